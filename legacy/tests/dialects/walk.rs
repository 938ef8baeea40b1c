//! Dialogues as text: each line is a question of the protocol and its answer.
//!
//! - `clock 1700000000.5` answers the question for the time, in seconds since 1970, up 1.5 s on the other clock;
//! - `GET k -> "1"` is a command as it must be sent and its reply: `nil`, `OK`, `QUEUED`, a number, a string in quotes, a
//!   list in brackets, `(error) WRONGTYPE ...`;
//! - the last line is the outcome: `won 1700000010`, `held Live`, `Freed`, ...
//!
//! A script goes by its name, in the place of its SHA-1 or its text.

use std::time::Duration;

use lockshift_legacy::{Lock, catalogue};
use lockshift_lock::{Acquired, Extended, Hold, Lease, Locker, Ownership, Released};
use lockshift_wire::{
    Key, MonoTime, Pending, Printable, Reading, Reply, Script, Transcript, Turn, UnixTime, script_file,
};

use crate::ME;

/// One attempt of `dialect` at `k`, with this lease in milliseconds.
#[track_caller]
pub(crate) fn acquire(dialect: &str, lease_ms: u64, lines: &str) {
    let lock = lock(dialect, lease_ms);
    walk(dialect, lines, |redis| lock.acquire(&ME, redis), describe_acquired);
}

/// A release of `k` by a holder that wrote `value` at `since`.
#[track_caller]
pub(crate) fn release(dialect: &str, lease_ms: u64, (value, since): (&str, &str), lines: &str) {
    let lock = lock(dialect, lease_ms);
    let hold = hold(&lock, value, since);
    walk(dialect, lines, |redis| lock.release(&hold, redis), |released: &Released| format!("{released:?}"));
}

/// An extension of `k` by a holder that wrote `value` at `since`.
#[track_caller]
pub(crate) fn extend(dialect: &str, lease_ms: u64, (value, since): (&str, &str), lines: &str) {
    let lock = lock(dialect, lease_ms);
    let hold = hold(&lock, value, since);
    walk(dialect, lines, |redis| lock.extend(&hold, redis), extended);
}

/// The same as the old client extends its lock.
#[track_caller]
pub(crate) fn refresh(dialect: &str, lease_ms: u64, (value, since): (&str, &str), lines: &str) {
    let lock = lock(dialect, lease_ms).refreshing();
    let hold = hold(&lock, value, since);
    walk(dialect, lines, |redis| lock.extend(&hold, redis), extended);
}

fn extended(extended: &Extended) -> String {
    match extended {
        Extended::Until(hold) => {
            let since = hold.since.wall.as_secs();
            format!("until {} {:?} since {since}", Printable(&hold.value), hold.lease.length())
        }
        Extended::Intruded(_) => "Intruded".to_string(),
        Extended::Lost => "Lost".to_string(),
        Extended::Unsupported => "Unsupported".to_string(),
    }
}

/// A look at `k` by a holder that wrote `value`.
#[track_caller]
pub(crate) fn ownership(dialect: &str, value: &str, lines: &str) {
    let lock = lock(dialect, 10_000);
    let hold = hold(&lock, value, "1700000000");
    walk(dialect, lines, |redis| lock.ownership(&hold, redis), |ownership: &Ownership| format!("{ownership:?}"));
}

/// What follows an attempt at `k` whose reply was lost.
#[track_caller]
pub(crate) fn disclaim(dialect: &str, lines: &str) {
    let lock = lock(dialect, 10_000);
    walk(dialect, lines, |redis| lock.disclaim(&ME, redis), |()| "done".to_string());
}

/// Walks a procedure through the lines to its outcome.
#[track_caller]
pub(crate) fn walk<T>(
    name: &str,
    lines: &str,
    procedure: impl Fn(&mut Transcript) -> Turn<T>,
    describe: impl Fn(&T) -> String,
) -> T {
    let mut redis = Transcript::new();
    let mut lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    loop {
        let line = lines.next().unwrap_or_else(|| panic!("{name}: the procedure goes on after the last line"));
        match procedure(redis.rewind()) {
            Ok(outcome) => {
                assert_eq!(describe(&outcome), line, "{name}: the outcome");
                assert_eq!(lines.next(), None, "{name}: lines after the outcome");
                return outcome;
            }
            Err(Pending::Clock) => {
                let Some(at) = line.strip_prefix("clock ") else { panic!("{name}: asks for the time, not `{line}`") };
                redis.record_clock(reading(at));
            }
            Err(Pending::Send(command)) => {
                let (expected, reply) = line.split_once(" -> ").unwrap_or((line, ""));
                assert_eq!(by_name(&command.to_string()), expected, "{name}: the command");
                redis.record_reply(reply_of(reply));
            }
            Err(Pending::Round(commands)) => panic!("{name} is on one server: {commands:?}"),
            Err(Pending::Fault(fault)) => panic!("{name}: {fault}, where `{line}` was to come"),
        }
    }
}

pub(crate) fn lock(dialect: &str, lease_ms: u64) -> Lock {
    let row = catalogue::find(dialect).unwrap_or_else(|| panic!("no row {dialect}"));
    Lock::new(row, Key::from("k"), Lease::new(Duration::from_millis(lease_ms)).expect("a lease"))
}

fn hold(lock: &Lock, value: &str, since: &str) -> Hold {
    Hold { value: unquoted(value), since: reading(since), lease: lock.lease(), fence: None }
}

/// `1700000000.5 up 12.25`: the wall clock, and the other one, which says 0 if it is left out.
pub(crate) fn reading(text: &str) -> Reading {
    let (wall, up) = text.split_once(" up ").unwrap_or((text, "0"));
    let up = Duration::from_nanos(nanos(up).unsigned_abs());
    Reading { wall: UnixTime::from_nanos(nanos(wall)), mono: MonoTime::since_origin(up) }
}

fn nanos(seconds: &str) -> i64 {
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, ""));
    format!("{whole}{part:0<9}").parse().unwrap_or_else(|_| panic!("`{seconds}` is not a time"))
}

fn describe_acquired(acquired: &Acquired) -> String {
    match acquired {
        Acquired::Won(hold) if hold.value.is_empty() => "won \"\"".to_string(),
        Acquired::Won(hold) => format!("won {}", Printable(&hold.value)),
        Acquired::Held(held) => {
            let left = held.retry_in.map_or(String::new(), |left| format!(" for {left:?}"));
            format!("held {:?}{left}", held.reason)
        }
    }
}

fn reply_of(text: &str) -> Reply {
    match text {
        "nil" => Reply::Nil,
        "OK" | "QUEUED" => Reply::Status(text.to_string()),
        _ => match (text.strip_prefix("(error) "), text.strip_prefix('['), text.strip_prefix('"')) {
            (Some(error), ..) => Reply::Error(error.to_string()),
            (_, Some(list), _) => {
                let items = list.strip_suffix(']').expect("a list ends with a bracket");
                Reply::Array(items.split(", ").map(reply_of).collect())
            }
            (.., Some(quoted)) => Reply::Bulk(unquoted(quoted.strip_suffix('"').expect("a string ends with a quote"))),
            _ => Reply::Int(text.parse().unwrap_or_else(|_| panic!("`{text}` is not a reply"))),
        },
    }
}

/// The bytes of a text with `\xNN` in it.
fn unquoted(text: &str) -> Vec<u8> {
    let mut pieces = text.split("\\x");
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let (byte, rest) = piece.split_at(2);
        bytes.push(u8::from_str_radix(byte, 16).expect("two hex digits"));
        bytes.extend(rest.as_bytes());
    }
    bytes
}

/// The command with scripts called by their names.
fn by_name(command: &str) -> String {
    let scripts = [
        ("setnx_expire", Script::new(include_str!("../../src/lua/setnx_expire.lua"))),
        ("del_if_get_equals", Script::new(include_str!("../../src/lua/del_if_get_equals.lua"))),
        ("jedis_unlock", Script::new(include_str!("../../src/lua/jedis_unlock.lua"))),
        ("redis_py_acquire", Script::new(include_str!("../../src/lua/redis_py_acquire.lua"))),
        ("redis_py_release", Script::new(include_str!("../../src/lua/redis_py_release.lua"))),
        ("retools_acquire", Script::new(include_str!("../../src/lua/retools_acquire.lua"))),
        ("retools_release", Script::new(include_str!("../../src/lua/retools_release.lua"))),
        ("extend", script_file!("../../src/lua/extend.lua")),
    ];
    scripts.iter().fold(command.to_string(), |command, (name, script)| {
        let text = format!("\"{}\"", Printable(script.text().as_bytes()));
        command.replace(script.sha1_hex(), name).replace(&text, name)
    })
}
