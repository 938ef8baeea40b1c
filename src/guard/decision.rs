//! Whether the client acquires, and the replies that can make it believe so.

use crate::legacy::Lock;
use crate::lock::{Owner, Token};
use crate::wire::{Command, Reply, UnixTime};
use std::time::Duration;

/// Whether the client acquires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Decision {
    /// It does: the guard has written its stamp.
    Win,
    /// It does not: nothing is written.
    Lose,
}

/// Of all clocks that a client may have, the earliest and the latest for which answers are chosen: the years 2009, of the
/// first release of Redis, and 2126.
pub(super) const CLOCKS: [UnixTime; 3] = [secs(1_230_768_000), secs(1_800_000_000), secs(4_922_899_200)];
/// A stamp that has expired at any clock. It is not 0, which some readers make of a value without a number.
const PAST: UnixTime = secs(1_000);
/// A stamp that is live at any clock: the year 2200.
const FUTURE: UnixTime = secs(7_258_118_400);

const fn secs(secs: i64) -> UnixTime {
    match UnixTime::from_secs(secs) {
        Some(moment) => moment,
        None => panic!("before the year 2262"),
    }
}

/// The owner of the stamps that the guard makes up: no client has its token.
const STRANGER: Owner = Owner::new(Token::new([0xc3; 16]), 4_099_991, 5);

/// The reply to TIME at this moment.
pub(super) fn time(now: UnixTime) -> Reply {
    let micros = now.as_nanos().rem_euclid(1_000_000_000) / 1_000;
    Reply::Array(vec![Reply::bulk(now.as_secs().to_string()), Reply::bulk(micros.to_string())])
}

/// Whether the command could acquire the lock: it writes a value of its client's into the key.
pub(super) fn could_acquire(command: &Command) -> bool {
    ["SETNX", "SET", "SETEX", "GETSET", "MSETNX", "EVAL", "EVALSHA", "EXEC"].iter().any(|name| command.is(name))
}

/// Whether it is SET only if there is no key.
pub(super) fn has_nx(command: &Command) -> bool {
    command.args().iter().skip(2).any(|option| option.eq_ignore_ascii_case(b"NX"))
}

/// The replies that can lead the client of this protocol to the decision, or before it is made (`None`) further on; the
/// best first. `seen` is the value that it was answered last.
pub(super) fn replies(lock: &Lock, command: &Command, decision: Option<Decision>, seen: Option<&[u8]>) -> Vec<Reply> {
    use Decision::{Lose, Win};
    let stamp = |moment| {
        let form = &lock.dialect().form;
        Reply::Bulk(form.write(form.stamp.at(moment, Duration::ZERO), &STRANGER))
    };
    let name = String::from_utf8_lossy(command.name()).to_ascii_uppercase();
    match (name.as_str(), decision) {
        ("SETNX", Some(Win)) | ("EXISTS" | "EXPIRE" | "PEXPIRE" | "EXPIREAT" | "PEXPIREAT" | "DEL", Some(Lose)) => {
            vec![Reply::Int(1)]
        }
        ("SETNX", Some(Lose)) => vec![Reply::Int(0)],
        ("SET", Some(Lose)) if has_nx(command) => vec![Reply::Nil],
        // A loser that writes back what it has overwritten has overwritten nothing.
        ("SET" | "SETEX", Some(_)) | ("WATCH" | "UNWATCH", _) => vec![Reply::ok()],
        ("EVAL" | "EVALSHA", Some(Win)) => vec![Reply::Int(1)],
        ("EVAL" | "EVALSHA", Some(Lose)) => vec![Reply::Nil, Reply::Int(0)],
        ("EXISTS", None | Some(Win)) => vec![Reply::Int(0), Reply::Int(1)],
        ("EXPIRE" | "PEXPIRE" | "EXPIREAT" | "PEXPIREAT" | "DEL", None | Some(Win)) => vec![Reply::Int(1)],
        ("GET" | "GETSET", Some(Lose)) => vec![stamp(FUTURE)],
        ("GETSET", Some(Win)) => {
            let read = seen.map(Reply::bulk);
            read.into_iter().chain([stamp(PAST), Reply::Nil]).collect()
        }
        ("GET", None | Some(Win)) => vec![stamp(PAST), Reply::Nil],
        _ => Vec::new(),
    }
}
