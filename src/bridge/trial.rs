//! What an old client does with a stamp: its protocol, run on a server that has one key.

use crate::legacy::Lock;
use crate::lock::{Acquired, Locker, Owner, Token};
use crate::wire::{Command, Pending, Reply, Transcript, UnixTime};

use super::fleet::Clocks;

/// A client that asks more in one try is going round in circles, as some do before a value that they cannot read.
const MOST_QUESTIONS: usize = 64;

/// Whether this old client, on finding `value` in the key, leaves it there and goes away. Giving it another time to live is
/// nothing of it.
pub(super) fn respects(member: &Lock, value: &[u8], clocks: &Clocks) -> bool {
    let stranger = Owner::new(Token::new([0xee; 16]), 2, 2);
    let clocks = clocks.of(member.dialect());
    let mut redis = Transcript::new();
    for _ in 0..MOST_QUESTIONS {
        match member.acquire(&stranger, redis.rewind()) {
            Ok(Acquired::Won(_)) => return false,
            Ok(Acquired::Held(_)) | Err(Pending::Fault(_)) => return true,
            Err(Pending::Clock) => redis.record_clock(clocks),
            // No old client asks several servers.
            Err(Pending::Round(_)) => return false,
            Err(Pending::Send(command)) => match answer(&command, value, clocks.wall) {
                Some(reply) => redis.record_reply(reply),
                None => return false,
            },
        }
    }
    true
}

/// What a server answers whose one key holds `value`; `None` to a command that would change it.
fn answer(command: &Command, value: &[u8], now: UnixTime) -> Option<Reply> {
    let is = |names: &[&str]| names.iter().any(|name| command.is(name));
    let only_if_missing = || command.args().iter().any(|word| word.eq_ignore_ascii_case(b"NX"));
    if is(&["GET"]) {
        Some(Reply::bulk(value))
    } else if is(&["SETNX", "MSETNX"]) {
        Some(Reply::Int(0))
    } else if is(&["EXISTS", "EXPIRE", "PEXPIRE", "EXPIREAT", "TTL", "PTTL"]) {
        Some(Reply::Int(1))
    } else if is(&["WATCH", "UNWATCH"]) {
        Some(Reply::ok())
    } else if is(&["TIME"]) {
        let micros = now.as_nanos().rem_euclid(1_000_000_000) / 1_000;
        Some(Reply::Array([now.as_secs(), micros].map(|part| Reply::bulk(part.to_string())).to_vec()))
    } else if is(&["EVAL", "EVALSHA"]) || is(&["SET"]) && only_if_missing() {
        // The one script that old clients acquire with is SETNX and EXPIRE; where there is a key it answers false.
        Some(Reply::Nil)
    } else {
        None
    }
}
