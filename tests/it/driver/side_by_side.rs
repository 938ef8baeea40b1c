//! Many procedures at once, over one connection.

use std::error::Error;

use lockshift::driver::blocking::run_together;
use lockshift::wire::{Key, Transcript, Turn};
use redis::Commands;

use crate::server::Server;

/// Reads a key, and as many keys more as it says there.
fn reads(key: &'static str) -> impl Fn(&mut Transcript) -> Turn<Vec<Vec<u8>>> {
    move |redis| {
        let mut read = vec![redis.get(&Key::new(key))?.unwrap_or_default()];
        for more in 0..read[0].len() {
            read.push(redis.get(&Key::new(format!("{key}{more}")))?.unwrap_or_default());
        }
        Ok(read)
    }
}

#[test]
fn each_has_its_own_outcome_however_long_it_takes() {
    let server = Server::start();
    let mut connection = server.connect();
    for (key, value) in [("a", "!!!"), ("a0", "x"), ("a2", "y"), ("b", ""), ("c", "!"), ("c0", "z")] {
        connection.set::<_, _, ()>(key, value).unwrap();
    }
    let procedures = ["a", "b", "c"].map(reads);
    let read = run_together(&mut connection, &procedures).unwrap();
    let expected: [&[&str]; 3] = [&["!!!", "x", "", "y"], &[""], &["!", "z"]];
    assert_eq!(read, expected.map(|values| values.iter().map(|value| value.as_bytes().to_vec()).collect::<Vec<_>>()));
    assert!(run_together(&mut connection, &procedures[..0]).unwrap().is_empty());
}

#[test]
fn none_has_an_outcome_if_one_is_refused() {
    let server = Server::start();
    let mut connection = server.connect();
    connection.lpush::<_, _, ()>("b", "not a string").unwrap();
    let refused = run_together(&mut connection, &["a", "b"].map(reads)).unwrap_err();
    let reason = refused.source().map(ToString::to_string);
    assert!(reason.is_some_and(|reason| reason.contains("WRONGTYPE")), "{refused:?}");
    assert_eq!(connection.get("a"), Ok(None::<String>), "the connection can be used");
}
