//! Every command has its own reply, whatever stands between them: empty commands, messages that the server pushes, a command whose
//! reply never comes, and what ends the connection.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use lockshift::driver::host;
use redis::{Commands, cmd};

use super::server_secs;
use crate::guard_process::GuardProcess;
use crate::patience::{PATIENCE, pause, until};
use crate::server::Server;

const STAMP: &str = "4102444800";

fn guarding(server: &Server, mode: &str) -> GuardProcess {
    GuardProcess::start(&server.url(), &[("lock:*".to_owned(), "php-getset")], &["--mode", mode])
}

fn raw(guard: &GuardProcess) -> TcpStream {
    let stream = guard.stream();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Commands as they are sent.
fn packed(commands: &[&[&str]]) -> Vec<u8> {
    commands.iter().flat_map(|words| redis::Cmd::new().arg(*words).get_packed_command()).collect()
}

/// What arrives up to this end.
fn read_to(stream: &mut TcpStream, end: &str) -> Vec<u8> {
    let (mut all, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    while !all.ends_with(end.as_bytes()) {
        let length = stream.read(&mut piece).unwrap_or_else(|error| {
            panic!("{error} after {} bytes: {}", all.len(), all[all.len().saturating_sub(200)..].escape_ascii())
        });
        assert_ne!(length, 0, "the connection ended: {}", all.escape_ascii());
        all.extend_from_slice(&piece[..length]);
    }
    all
}

/// Redis answers nothing to them.
#[test]
fn a_guarded_command_behind_an_empty_one_is_answered() {
    let server = Server::start();
    for mode in ["protect", "observe"] {
        let guard = guarding(&server, mode);
        for empty in ["\r\n", "*0\r\n"] {
            let mut stream = raw(&guard);
            stream.write_all(&[empty.as_bytes(), &packed(&[&["GET", "lock:none"]])].concat()).unwrap();
            assert_eq!(read_to(&mut stream, "$-1\r\n"), b"$-1\r\n", "{mode}");
            // A client that has ended its direction still gets its replies.
            stream.write_all(&[empty.as_bytes(), &packed(&[&["EXISTS", "lock:none"]])].concat()).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).unwrap();
            assert_eq!(rest, b":0\r\n", "{mode}");
        }
    }
}

#[test]
fn a_message_that_the_server_pushes_is_no_reply_to_a_deletion() {
    let server = Server::start();
    let guard = guarding(&server, "protect");
    let mut stream = raw(&guard);
    let setting_up: [&[&str]; 4] =
        [&["HELLO", "3"], &["CLIENT", "TRACKING", "ON"], &["SET", "x", "1"], &["GET", "lock:a"]];
    stream.write_all(&packed(&setting_up)).unwrap();
    read_to(&mut stream, "_\r\n");
    stream.write_all(&packed(&[&["SETNX", "lock:a", STAMP], &["GET", "lock:a"]])).unwrap();
    read_to(&mut stream, &format!("{STAMP}\r\n"));
    stream.write_all(&packed(&[&["DEL", "lock:a", "x"]])).unwrap();
    let replies = read_to(&mut stream, ":2\r\n");
    assert!(replies.starts_with(b">2\r\n$10\r\ninvalidate\r\n"), "{}", replies.escape_ascii());
    assert_eq!(server.connect().exists(&["lock:a", "x"][..]), Ok(0));
}

/// The guard answers by itself, while a long message is on its way to a client that reads slowly.
#[test]
fn an_answer_comes_behind_a_message_that_has_begun() {
    const LENGTH: usize = 12 << 20;
    let server = Server::start();
    let guard = guarding(&server, "protect");
    let mut stream = raw(&guard);
    stream.write_all(&packed(&[&["HELLO", "3"], &["SUBSCRIBE", "news"], &["GET", "none"]])).unwrap();
    read_to(&mut stream, "_\r\n");
    cmd("PUBLISH").arg("news").arg("m".repeat(LENGTH)).exec(&mut server.connect()).unwrap();
    pause(Duration::from_millis(300));
    stream.write_all(&packed(&[&["DEL", "lock:a"]])).unwrap();
    pause(Duration::from_millis(300));
    let all = read_to(&mut stream, ":0\r\n");
    let message =
        [">3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$", &LENGTH.to_string(), "\r\n", &"m".repeat(LENGTH), "\r\n"].concat();
    assert!(all == [message.as_bytes(), b":0\r\n"].concat(), "{} bytes", all.len());
}

/// As a server does by itself: a job is for a client that is there.
#[test]
fn a_command_that_waits_ends_with_its_client() {
    let server = Server::start();
    let guard = guarding(&server, "protect");
    let mut direct = server.connect();
    let mut client = raw(&guard);
    client.write_all(&packed(&[&["BLPOP", "jobs", "0"], &["SETNX", "lock:a", STAMP]])).unwrap();
    let blocked = |direct: &mut redis::Connection| -> bool {
        let clients: String = cmd("INFO").arg("clients").query(direct).unwrap();
        clients.contains("blocked_clients:1")
    };
    until("the client waits", || blocked(&mut direct).then_some(()));
    drop(client);
    until("it waits no more", || (!blocked(&mut direct)).then_some(()));
    direct.rpush::<_, _, ()>("jobs", "a").unwrap();
    assert_eq!(direct.llen("jobs"), Ok(1));
}

/// A client may send all that it has to say and end its side: what takes long is answered all the same.
#[test]
fn a_client_that_has_ended_its_side_gets_every_reply() {
    let server = Server::start();
    let guard = guarding(&server, "protect");
    let mut client = raw(&guard);
    let slow: [&[&str]; 2] = [&["BLPOP", "nothing", "3"], &["EXISTS", "lock:a"]];
    client.write_all(&packed(&slow).repeat(3)).unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    let mut replies = String::new();
    client.read_to_string(&mut replies).unwrap();
    assert_eq!(replies, "*-1\r\n:0\r\n".repeat(3));
}

/// What came before it is run and answered.
#[test]
fn a_command_that_ends_the_connection_ends_it_after_those_before_it() {
    let server = Server::start();
    let guard = guarding(&server, "protect");
    let mut direct = server.connect();
    let unguardable: [&[&str]; 4] =
        [&["CLIENT", "REPLY", "OFF"], &["INCR", "silent"], &["CLIENT", "REPLY", "ON"], &["GET", "lock:a"]];
    let malformed = [packed(&[&["INCR", "silent"]]), b"*1\r\n!oops\r\n".to_vec()].concat();
    for (sent, replies) in
        [(packed(&unguardable), "+OK\r\n-ERR lockshift guard:"), (malformed, ":1\r\n-ERR Protocol error")]
    {
        direct.del::<_, ()>("silent").unwrap();
        let mut stream = raw(&guard);
        stream.write_all(&sent).unwrap();
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        assert!(all.starts_with(replies), "{all}");
        assert_eq!(direct.get("silent"), Ok(1));
    }
}

/// Its replies cannot be counted.
#[test]
fn a_guard_ends_at_once_though_a_client_has_sent_monitor() {
    let server = Server::start();
    let guard = guarding(&server, "protect");
    let mut stream = raw(&guard);
    stream.write_all(&packed(&[&["MONITOR"]])).unwrap();
    read_to(&mut stream, "+OK\r\n");
    let began = host::mono();
    guard.terminate();
    guard.done();
    let took = host::mono().saturating_since(began);
    assert!(took < Duration::from_secs(5), "{took:?}");
}

/// A client that overran its lease sends no DEL by some protocols. Its next locks are released all the same.
#[test]
fn a_lock_that_was_not_released_does_not_make_every_later_release_late() {
    for protocol in ["redis-objects", "redis-mutex-4.0.0"] {
        let server = Server::start();
        let guard = GuardProcess::start(&server.url(), &[("lock:*".to_owned(), protocol)], &[]);
        let [mut client, mut direct] = [guard.connect(), server.connect()];
        let acquire = |client: &mut redis::Connection, secs: i64| {
            let end = server_secs(client) + secs;
            let value = format!("{end}.5");
            until("it acquires", || client.set_nx::<_, _, bool>("lock:a", &value).unwrap().then_some(()));
            (end, value)
        };
        let (end, _) = acquire(&mut client, 2);
        until("its lease and its key have ended", || {
            (server_secs(&mut direct) > end + 3 && direct.exists("lock:a") == Ok(false)).then_some(())
        });
        let (_, value) = acquire(&mut client, 60);
        assert_eq!(client.get("lock:a"), Ok(value), "{protocol}");
        assert_eq!(client.del("lock:a"), Ok(1), "{protocol}: the DEL is meant for this lock");
        assert_eq!(direct.exists("lock:a"), Ok(false), "{protocol}");
    }
}
