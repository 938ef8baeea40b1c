//! Compare-and-delete and compare-and-set, as each kind of server has them.

use lockshift::modern::Native;
use lockshift::sim::{Flavour, Server};
use lockshift::wire::{Pending, Reply, Transcript};

use super::dialogue::{Dialogue, command};
use super::{ALICE, at};

#[test]
fn native_compare_commands_exist_where_the_server_has_them() {
    for (flavour, delifeq, delex, set) in [
        (Flavour::Redis70, false, false, false),
        (Flavour::Redis84, false, true, true),
        (Flavour::Valkey9, true, false, true),
    ] {
        let mut server = Server::new(flavour);
        let has =
            |text: &str, server: &mut Server| !matches!(server.call(ALICE, &command(text), at(0)), Reply::Error(_));
        assert_eq!(server.knows(&command("DELIFEQ")), delifeq, "{flavour:?}");
        assert_eq!(has("DELIFEQ lock a", &mut server), delifeq, "{flavour:?}");
        assert_eq!(has("DELEX lock IFEQ a", &mut server), delex, "{flavour:?}");
        assert_eq!(has("SET lock b IFEQ a PX 5", &mut server), set, "{flavour:?}");
        let Reply::Array(known) = server.call(ALICE, &command("COMMAND INFO delifeq DELEX set"), at(0)) else {
            panic!()
        };
        let known: Vec<_> = known.iter().map(|row| *row != Reply::Nil).collect();
        assert_eq!(known, [delifeq, delex, true], "COMMAND INFO of {flavour:?}");
    }
}

#[test]
fn native_compare_commands_are_detected_as_on_a_real_server() {
    let table = [
        (Flavour::Redis70, Native::NONE),
        (Flavour::Redis84, Native::REDIS_8_4),
        (Flavour::Valkey9, Native::VALKEY_9_0),
    ];
    for (flavour, native) in table {
        let mut server = Server::new(flavour);
        let mut redis = Transcript::new();
        let Err(Pending::Send(question)) = Native::detect(&mut redis) else { panic!("detection asks") };
        redis.record_reply(server.call(ALICE, &question, at(0)));
        assert_eq!(Native::detect(redis.rewind()), Ok(native), "{flavour:?}");
    }
}

#[test]
fn compare_and_delete_without_lua() {
    let release = |delete: &str| {
        format!(
            "
        0  A  SET lock a PX 100         -> OK
        1  B  {delete} b                -> 0
        1  B  SET lock b IFEQ b PX 100  -> (nil)
        2  A  SET lock a IFEQ a PX 100  -> OK
        2  A  PTTL lock                 -> 100
        3  A  {delete} a                -> 1
        3  A  {delete} a                -> 0
        3  A  SET lock a IFEQ a         -> (nil)
        4  A  HSET lock f v             -> 1
        4  A  SET lock a IFEQ a         -> (error) WRONGTYPE Operation against a key holding the wrong kind of value
    "
        )
    };
    Dialogue::with(Flavour::Valkey9).goes(&release("DELIFEQ lock"));
    Dialogue::with(Flavour::Redis84).goes(&release("DELEX lock IFEQ"));
}
