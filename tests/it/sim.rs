//! The simulated server by itself: what it promises as a value, and dialogues to read.

mod comparing;
mod dialogue;
mod scripts;

use std::hash::{DefaultHasher, Hash, Hasher};

use lockshift::sim::{Flavour, Message, Server, Session, Value, Via};
use lockshift::wire::{Command, Key, Reply, UnixTime};

use self::dialogue::{Dialogue, command};

const ALICE: Session = Session(0);
const BOB: Session = Session(1);

fn at(millis: i64) -> UnixTime {
    UnixTime::from_millis(millis).unwrap()
}

fn hash(server: &Server) -> u64 {
    let mut hasher = DefaultHasher::new();
    server.hash(&mut hasher);
    hasher.finish()
}

/// A server after these commands of Alice, a millisecond apart.
fn after(commands: &[&str]) -> Server {
    let mut server = Server::default();
    for (text, millis) in commands.iter().zip(0..) {
        server.call(ALICE, &command(text), at(millis));
    }
    server
}

#[test]
fn a_key_lives_through_the_millisecond_of_its_deadline() {
    Dialogue::with(Flavour::Redis70).goes(
        "
        0    A  SET lock a NX PX 100      -> OK
        99   B  PTTL lock                 -> 1
        100  B  PTTL lock                 -> 0
        100  B  TTL lock                  -> 0
        100  B  SET lock b NX PX 100      -> (nil)
        101  B  SET lock b NX PX 100      -> OK
        101  B  PEXPIRETIME lock          -> 201
        101  B  TTL lock                  -> 0
        101  B  PEXPIRE lock 500          -> 1
        101  B  TTL lock                  -> 1
        101  B  PEXPIRE lock 0            -> 1
        101  A  EXISTS lock               -> 0
        101  A  PTTL lock                 -> -2
    ",
    );
}

#[test]
fn which_commands_keep_the_expiry() {
    Dialogue::with(Flavour::Redis70).goes(
        "
        0  A  SET stamp 5 PX 100        -> OK
        1  A  INCR stamp                -> 6
        1  A  APPEND stamp 7            -> 2
        1  A  PTTL stamp                -> 99
        2  A  GETSET stamp 8            -> \"67\"
        2  A  PTTL stamp                -> -1
        3  A  SET stamp 9 EX 1          -> OK
        3  A  SET stamp 10 KEEPTTL GET  -> \"9\"
        3  A  PTTL stamp                -> 1000
        4  A  SET stamp 11              -> OK
        4  A  PTTL stamp                -> -1
    ",
    );
}

#[test]
fn a_watched_key_fails_the_transaction_even_by_expiring() {
    Dialogue::with(Flavour::Redis70).goes(
        "
        0   A  SET lock a PX 10          -> OK
        1   B  WATCH lock                -> OK
        1   B  GET lock                  -> \"a\"
        20  B  MULTI                     -> OK
        20  B  SET lock b                -> QUEUED
        20  B  EXEC                      -> (nil)
        21  B  WATCH lock                -> OK
        21  A  SET other x               -> OK
        22  B  MULTI                     -> OK
        22  B  SET lock b                -> QUEUED
        22  B  PTTL lock                 -> QUEUED
        22  B  EXEC                      -> [OK, -1]
        23  B  EXEC                      -> (error) ERR EXEC without MULTI
        24  B  MULTI                     -> OK
        24  B  GET                       -> (error) ERR wrong number of arguments for 'get' command
        24  B  EXEC                      -> (error) EXECABORT Transaction discarded because of previous errors.
    ",
    );
}

#[test]
fn messages_wait_for_their_subscriber() {
    let mut server = Server::default();
    for listen in ["SUBSCRIBE news", "PSUBSCRIBE n*", "SSUBSCRIBE news"] {
        server.call(BOB, &command(listen), at(0));
    }
    assert_eq!(server.call(ALICE, &command("PUBLISH news 0"), at(1)), Reply::Int(2));
    assert_eq!(server.call(ALICE, &command("SPUBLISH news 1"), at(2)), Reply::Int(1));
    let message = |via, payload: &str| Message { via, channel: b"news".to_vec(), payload: payload.into() };
    let expected = [message(Via::Channel, "0"), message(Via::Pattern(b"n*".to_vec()), "0"), message(Via::Shard, "1")];
    assert_eq!(server.take_messages(BOB), expected);
    assert_eq!(server.take_messages(BOB), []);

    server.disconnect(BOB);
    assert_eq!(server.call(ALICE, &command("PUBLISH news 0"), at(3)), Reply::Int(0));
    assert_eq!(server, Server::default());
}

#[test]
fn servers_that_answer_alike_are_equal() {
    let same = [
        (vec!["SET k v PX 1", "PING", "PING", "PING"], vec![]),
        (vec!["MULTI", "SET k v", "DISCARD"], vec![]),
        (vec!["SELECT 3", "SELECT 0"], vec![]),
        (vec!["WATCH k", "SET k v"], vec!["SET k v", "WATCH a", "SET a 1", "DEL a"]),
        (vec!["SADD s a", "SADD s b", "RPUSH l x"], vec!["RPUSH l x", "SADD s b a"]),
        (vec!["HSET h a 1", "HDEL h a"], vec![]),
        (vec!["SUBSCRIBE c", "UNSUBSCRIBE"], vec![]),
        (vec!["SET k v", "SET k w", "PERSIST k"], vec!["SET k w"]),
    ];
    for (left, right) in same {
        let (left_server, right_server) = (after(&left), after(&right));
        assert_eq!(left_server, right_server, "{left:?} and {right:?}");
        assert_eq!(hash(&left_server), hash(&right_server), "{left:?} and {right:?}");
    }
    for (left, right) in [(["SET k v"], ["SET k w"]), (["SET k v"], ["SET k v PX 9"]), (["WATCH k"], ["MULTI"])] {
        assert_ne!(after(&left), after(&right), "{left:?} and {right:?}");
    }
}

#[test]
fn peeking_changes_nothing_and_sees_no_ghosts() {
    let server = after(&["SET lock token PX 10", "HSET readers a 1 b 2"]);
    let before = server.clone();
    let lock = server.peek(&Key::from("lock"), at(10)).unwrap();
    assert_eq!((lock.value, lock.expires_at), (Value::Text(b"token".to_vec()), Some(at(10))));
    assert_eq!(server.peek(&Key::from("lock"), at(11)), None);
    assert_eq!(server.peek(&Key::from("readers"), at(11)).unwrap().value.to_string(), "{a: 1, b: 2}");
    assert_eq!(server, before);
}

#[test]
fn no_command_and_no_argument_is_too_much() {
    let mut server = Server::default();
    let long = "x".repeat(1000);
    for text in [
        "EXPIRE k 9223372036854775807",
        "PEXPIRE k 9223372036854775807",
        "SET k v PX 9223372036854775807",
        "SET k v EXAT 9223372036854775807",
        "LREM l -9223372036854775808 x",
        "LPOP l 9223372036854775807",
        "EVAL x 9223372036854775807",
        "DECRBY k -9223372036854775808",
        "",
        "SCRIPT",
        "COMMAND",
        "CLIENT X",
        &long,
    ] {
        server.call(ALICE, &Command::new("RPUSH").arg("l").arg("x"), at(0));
        server.call(ALICE, &Command::from_words(text.split(' ')).unwrap(), at(i64::MAX / 1_000_000));
        server.call(ALICE, &Command::from_words(text.split(' ')).unwrap(), at(i64::MIN / 1_000_000));
    }
}
