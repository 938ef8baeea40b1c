//! A protocol played against a written dialogue, a line for every command and its reply:
//!
//! ```text
//! clock -> 0
//! SET k <token> NX PX 10000 -> OK
//! ```
//!
//! The commands of a round to several servers are on consecutive lines, with `@1` and so on after those for the second
//! server and further ones; a server that is `unreachable` or `too slow` says so itself.
//!
//! The clock is given in milliseconds since [`START`]. Replies are written as `redis-cli` shows them. `<token>` stands for
//! the token of [`owner`] and `<me>` for the name of its thread, `<release>` for the hash of that script, and
//! `<release.lua>` for its text.

use std::time::Duration;

use lockshift_lock::{Hold, Lease, Owner, Token};
use lockshift_wire::{
    Command, MonoTime, NoReply, Node, NodeReply, Pending, Printable, Reading, Reply, Script, Transcript, Turn,
    UnixTime, script_file,
};

/// The wall clock when the monotonic clock is zero: a Tuesday in November 2023, 22:13:20.
const START: UnixTime = UnixTime::from_nanos(1_700_000_000_000_000_000);

/// These scripts by the names of their files.
macro_rules! scripts {
    ($($name:literal),* $(,)?) => {
        &[$(($name, script_file!(concat!("../../src/lua/", $name, ".lua")))),*]
    };
}

const SCRIPTS: &[(&str, Script)] = scripts![
    "release",
    "extend",
    "extend_until",
    "announced/release",
    "fenced/acquire",
    "fair/acquire",
    "fair/leave",
    "semaphore/acquire",
    "semaphore/release",
    "semaphore/extend",
    "rw/read",
    "rw/write",
    "rw/leave",
    "rw/extend",
    "rw_hash/read",
    "rw_hash/write",
    "rw_hash/release",
    "rw_pair/read",
    "rw_pair/write",
    "reentrant/acquire",
    "reentrant/acquire_fenced",
    "reentrant/release",
    "reentrant/release_announced",
    "reentrant/renew",
    "multi/acquire",
    "multi/release",
    "multi/release_announced",
    "multi/extend",
    "redisson/acquire",
    "redisson/acquire_fenced",
    "redisson/renew",
    "redisson/unlock",
    "redisson/unlock_spin",
    "redisson/read/acquire",
    "redisson/read/renew",
    "redisson/read/unlock",
    "redisson/write/acquire",
    "redisson/write/unlock",
    "redisson/fair/acquire",
    "redisson/fair/give_up",
    "redisson/fair/unlock",
];

/// The owner of all attempts.
pub(crate) fn owner() -> Owner {
    Owner::new(Token::new([0xab; 16]), 7, 1)
}

/// A hold of the owner with a lease that began at this millisecond.
pub(crate) fn hold(since_ms: u64, lease_ms: u64) -> Hold {
    Hold { value: owner().token.hex().into_bytes(), since: reading(since_ms), lease: lease(lease_ms), fence: None }
}

/// A lease of that many milliseconds.
pub(crate) fn lease(millis: u64) -> Lease {
    Lease::new(Duration::from_millis(millis)).unwrap()
}

/// Plays the dialogue to its end. Returns the result of the protocol, or the text of its fault.
pub(crate) fn play<T>(dialogue: &str, protocol: impl Fn(&mut Transcript) -> Turn<T>) -> Result<T, String> {
    let mut redis = Transcript::new();
    let mut lines = dialogue.lines().map(str::trim).filter(|line| !line.is_empty());
    loop {
        let question = match protocol(redis.rewind()) {
            Err(Pending::Round(commands)) => {
                for command in commands {
                    let (expected, answer) = split(lines.next());
                    assert_eq!(describe_command(&command), expected);
                    redis.record_node_reply(command.node(), heard(answer));
                }
                continue;
            }
            Ok(outcome) => return all_lines_used(lines).map(|()| outcome),
            Err(Pending::Fault(fault)) => return all_lines_used(lines).and(Err(fault.to_string())),
            Err(Pending::Clock) => "clock".to_owned(),
            Err(Pending::Send(ref command)) => describe_command(command),
        };
        let (expected, answer) = split(lines.next());
        assert_eq!(question, expected);
        match answer.parse() {
            Ok(millis) if question == "clock" => redis.record_clock(reading(millis)),
            _ => redis.record_reply(reply(answer)),
        }
    }
}

fn all_lines_used<'a>(mut lines: impl Iterator<Item = &'a str>) -> Result<(), String> {
    lines.next().map_or(Ok(()), |line| panic!("it ended before `{line}`"))
}

fn split(line: Option<&str>) -> (&str, &str) {
    line.unwrap_or("nothing -> any more").split_once(" -> ").expect("a line is `question -> answer`")
}

fn describe_command(command: &Command) -> String {
    let words: Vec<String> = command.words().iter().map(|word| describe(word)).collect();
    match command.node() {
        Node(0) => words.join(" "),
        Node(place) => format!("{} @{place}", words.join(" ")),
    }
}

fn heard(answer: &str) -> NodeReply {
    match answer {
        "unreachable" => NodeReply::NoReply(NoReply::Unreachable),
        "too slow" => NodeReply::NoReply(NoReply::TooSlow),
        _ => NodeReply::Reply(reply(answer)),
    }
}

fn reading(millis: u64) -> Reading {
    let since = Duration::from_millis(millis);
    Reading { wall: START.saturating_add(since), mono: MonoTime::since_origin(since) }
}

fn describe(word: &[u8]) -> String {
    let text = String::from_utf8(word.to_vec()).expect("these locks write text");
    for (name, script) in SCRIPTS {
        if text == script.sha1_hex() {
            return format!("<{name}>");
        }
        if text == script.text() {
            return format!("<{name}.lua>");
        }
    }
    let text = text.replace(&owner().thread_name(), "<me>").replace(&owner().token.hex(), "<token>");
    Printable(text.as_bytes()).to_string()
}

fn reply(text: &str) -> Reply {
    if let Ok(number) = text.parse() {
        return Reply::Int(number);
    }
    if let Some(error) = text.strip_prefix("(error) ") {
        return Reply::Error(error.to_owned());
    }
    if let Some(items) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return Reply::Array(items.split(", ").filter(|item| !item.is_empty()).map(reply).collect());
    }
    match text {
        "(nil)" => Reply::Nil,
        "\"<token>\"" => Reply::bulk(owner().token.hex()),
        _ => text.strip_prefix('"').map_or_else(
            || Reply::Status(text.to_owned()),
            |rest| Reply::bulk(rest.strip_suffix('"').expect("a string ends with a quote")),
        ),
    }
}
