//! What a server can compare, from its own description of SET, DELIFEQ and DELEX.

use lockshift_modern::{CompareDelete, Native};
use lockshift_wire::{Command, Pending, Reply, Transcript};

/// The commands detected from this reply.
fn detected(reply: Reply) -> Native {
    let mut redis = Transcript::new();
    let question = Command::new("COMMAND").arg("DOCS").arg("SET").arg("DELIFEQ").arg("DELEX");
    assert_eq!(Native::detect(redis.rewind()), Err(Pending::Send(question)));
    redis.record_reply(reply);
    Native::detect(redis.rewind()).expect("one reply is enough, whatever it is")
}

fn list(items: impl IntoIterator<Item = Reply>) -> Reply {
    Reply::Array(items.into_iter().collect())
}

fn strings<const N: usize>(strings: [&str; N]) -> Reply {
    list(strings.map(Reply::bulk))
}

/// `SET` as servers describe it: its history, and its conditions one level below its arguments.
fn set(conditions: &[&str]) -> [Reply; 2] {
    let history = list([strings(["8.1.0", "Added the `IFEQ` option."])]);
    let condition = |token: &&str| strings(["name", "condition", "type", "string", "token", token]);
    let conditions = list([
        Reply::bulk("name"),
        Reply::bulk("condition"),
        Reply::bulk("flags"),
        list([Reply::Status("optional".into())]),
        Reply::bulk("arguments"),
        list(conditions.iter().map(condition)),
    ]);
    let arguments = list([strings(["name", "key", "type", "key"]), conditions]);
    let docs = [Reply::bulk("history"), history, Reply::bulk("arguments"), arguments];
    [Reply::bulk("set"), list(docs)]
}

fn other(name: &str) -> [Reply; 2] {
    [Reply::bulk(name), strings(["summary", "Deletes a key on a condition.", "group", "string"])]
}

#[test]
fn the_native_commands_are_detected_from_the_description() {
    let old = || set(&["NX", "XX"]);
    let new = || set(&["NX", "XX", "IFEQ"]);
    let delex_only = Native { delete: Some(CompareDelete::DelEx), set_ifeq: false };
    let table = [
        ("Redis 7.0", old().to_vec(), Native::NONE),
        ("Redis 8.4", [other("delex"), new()].concat(), Native::REDIS_8_4),
        ("Valkey 8.1", new().to_vec(), Native::VALKEY_8_1),
        ("Valkey 9.0", [new(), other("delifeq")].concat(), Native::VALKEY_9_0),
        ("a Valkey with both", [other("delex"), new(), other("delifeq")].concat(), Native::VALKEY_9_0),
        ("a fork that took over half", [old(), other("DELEX")].concat(), delex_only),
        ("a fork that names it by a status", vec![Reply::Status("DELEX".into()), list([])], delex_only),
    ];
    for (server, docs, expected) in table {
        assert_eq!(detected(list(docs)), expected, "{server}");
    }
}

#[test]
fn an_error_or_an_unexpected_reply_means_scripts() {
    let table = [
        ("an ACL", Reply::Error("NOPERM User app has no permissions to run the 'command|docs' command".into())),
        ("Redis 6", Reply::Error("ERR Unknown subcommand or wrong number of arguments for 'DOCS'.".into())),
        ("a proxy without COMMAND", Reply::Error("ERR unknown command 'COMMAND'".into())),
        ("a proxy that says yes to all", Reply::ok()),
        ("a proxy that takes it for COMMAND COUNT", Reply::Int(241)),
        ("one that knows nothing", Reply::Nil),
        ("one that knows none of the three", list([])),
        ("one that answers in a string", Reply::bulk("set IFEQ delifeq")),
        ("one with a name and no more", strings(["set"])),
        ("one with numbers for names", list([Reply::Int(1), strings(["IFEQ"]), Reply::Nil, Reply::Nil])),
        ("one that only speaks of it", list(set(&[]))),
    ];
    for (server, reply) in table {
        assert_eq!(detected(reply), Native::NONE, "{server}");
    }
}
