//! What a real server lists is parsed back to exactly what was sent.

use lockshift::monitor::{Parser, Source};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use redis::Value;

use crate::server::Server;

#[test]
fn commands_of_any_bytes_come_back_as_they_were_sent() {
    let server = Server::start();
    let mut lines = server.connect();
    redis::cmd("MONITOR").exec(&mut lines).unwrap();
    let lines = std::cell::RefCell::new(lines);
    let client = std::cell::RefCell::new(server.connect());
    let words = prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..6);
    let mut runner = TestRunner::new(Config { cases: 100, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&words, |words| {
        let mut command = redis::cmd("RPUSH");
        command.arg("list");
        words.iter().for_each(|word| {
            command.arg(word.as_slice());
        });
        command.exec(&mut client.borrow_mut()).unwrap();
        let expected: Vec<Vec<u8>> = [b"RPUSH".to_vec(), b"list".to_vec()].into_iter().chain(words).collect();
        let mut parser = Parser::new();
        loop {
            let Value::SimpleString(text) = lines.borrow_mut().recv_response().unwrap() else { continue };
            let line = parser.parse(text.as_bytes()).unwrap();
            let found: Vec<Vec<u8>> = line.words().map(|word| word.bytes().into_owned()).collect();
            // The connections' own greetings are listed, too.
            if found[0] == b"RPUSH" {
                prop_assert!(matches!(line.source, Source::Client(address) if address.starts_with(b"127.0.0.1:")));
                prop_assert_eq!(found, expected);
                return Ok(());
            }
        }
    });
    outcome.unwrap();
}
