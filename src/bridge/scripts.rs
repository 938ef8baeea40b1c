//! The Lua texts, as typed commands.

use crate::wire::{Key, Reply, Script, Transcript, Turn};

const ACQUIRE: Script = Script::new(include_str!("lua/acquire.lua"));
const EXTEND: Script = Script::new(include_str!("lua/extend.lua"));
const RELEASE: Script = Script::new(include_str!("lua/release.lua"));

/// What is asked for: both keys, in these words.
pub(super) struct Bid<'a> {
    pub(super) keys: &'a [&'a Key],
    pub(super) token: &'a [u8],
    pub(super) lease_ms: &'a [u8],
    pub(super) stamp: &'a [u8],
}

/// What came of it.
pub(super) enum Bidden {
    /// Both keys are ours. The count, if there is a counter.
    Won(u64),
    /// The new key is somebody's, for so many milliseconds; without a time to live a negative number.
    NewHeld(i64),
    /// The old key holds this.
    OldHolds(Vec<u8>),
    /// The old key is no string.
    OldIsOdd,
}

/// How things stood with the old key when ours was extended or released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// As we had left it.
    AsLeft,
    /// Not as we had left it.
    Changed,
    /// The new key is not ours.
    NotOurs,
}

/// Takes both keys, the old one only if it is not there or holds what was found to be `over`.
pub(super) fn acquire(redis: &mut Transcript, bid: &Bid<'_>, over: Option<&[u8]>) -> Turn<Bidden> {
    let words = [bid.token, bid.lease_ms, bid.stamp];
    let args: Vec<&[u8]> = words.into_iter().chain(over).collect();
    let reply = redis.script(&ACQUIRE, bid.keys, &args)?;
    let Reply::Array(answer) = &reply else { return Transcript::fault(ACQUIRE.evalsha(bid.keys, &args), reply) };
    match answer.as_slice() {
        [Reply::Int(1), Reply::Int(count)] => Ok(Bidden::Won(count.unsigned_abs())),
        [Reply::Int(0), Reply::Int(left_ms)] => Ok(Bidden::NewHeld(*left_ms)),
        [Reply::Int(2), Reply::Bulk(value)] => Ok(Bidden::OldHolds(value.clone())),
        [Reply::Int(3)] => Ok(Bidden::OldIsOdd),
        _ => Transcript::fault(ACQUIRE.evalsha(bid.keys, &args), reply),
    }
}

/// Writes both keys anew if the new one is ours.
pub(super) fn extend(redis: &mut Transcript, bid: &Bid<'_>) -> Turn<Found> {
    found(redis, &EXTEND, bid.keys, &[bid.token, bid.lease_ms, bid.stamp])
}

/// Deletes the new key if it is ours, and the old one if it is as we left it.
pub(super) fn release(redis: &mut Transcript, keys: &[&Key], token: &[u8]) -> Turn<Found> {
    found(redis, &RELEASE, keys, &[token])
}

fn found(redis: &mut Transcript, script: &Script, keys: &[&Key], args: &[&[u8]]) -> Turn<Found> {
    match redis.script_int(script, keys, args)? {
        0 => Ok(Found::NotOurs),
        1 => Ok(Found::AsLeft),
        _ => Ok(Found::Changed),
    }
}
