//! The Lua scripts as typed functions.

use crate::wire::{Command, Key, Reply, Script, Transcript, Turn, script_file};

const ACQUIRE: Script = script_file!("lua/acquire.lua");
const EXTEND: Script = script_file!("lua/extend.lua");
const RELEASE: Script = script_file!("lua/release.lua");

/// The keys and arguments of the acquiring and extending scripts.
pub(crate) struct ScriptArgs<'a> {
    pub(crate) keys: &'a [&'a Key],
    pub(crate) token: &'a [u8],
    pub(crate) lease_ms: &'a [u8],
    pub(crate) stamp: &'a [u8],
}

/// The reply of the acquiring script.
pub(super) enum AcquireReply {
    /// Both keys were acquired, with the count if there is a counter.
    Won(u64),
    /// Another client holds the new key for this many milliseconds; negative if the key has no TTL.
    NewKeyHeld(i64),
    /// The old key holds this value.
    OldKeyHolds(Vec<u8>),
    /// The old key is not a string.
    OldKeyNotString,
}

/// The state of the old key when the bridge extended or released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OldKeyState {
    /// It held the bridge's value.
    Unchanged,
    /// It did not hold the bridge's value.
    Changed,
    /// The bridge no longer holds the new key.
    Lost,
}

/// Acquires both keys; the old one only if it is missing or holds the value judged `expired`.
pub(super) fn acquire(redis: &mut Transcript, args: &ScriptArgs<'_>, expired: Option<&[u8]>) -> Turn<AcquireReply> {
    let words = [args.token, args.lease_ms, args.stamp];
    let argv: Vec<&[u8]> = words.into_iter().chain(expired).collect();
    let reply = redis.script(&ACQUIRE, args.keys, &argv)?;
    let Reply::Array(answer) = &reply else { return Transcript::fault(ACQUIRE.evalsha(args.keys, &argv), reply) };
    match answer.as_slice() {
        [Reply::Int(1), Reply::Int(count)] => Ok(AcquireReply::Won(count.unsigned_abs())),
        [Reply::Int(0), Reply::Int(left_ms)] => Ok(AcquireReply::NewKeyHeld(*left_ms)),
        [Reply::Int(2), Reply::Bulk(value)] => Ok(AcquireReply::OldKeyHolds(value.clone())),
        [Reply::Int(3)] => Ok(AcquireReply::OldKeyNotString),
        _ => Transcript::fault(ACQUIRE.evalsha(args.keys, &argv), reply),
    }
}

/// Writes both keys again if the bridge holds the new one.
pub(crate) fn extend(redis: &mut Transcript, args: &ScriptArgs<'_>) -> Turn<OldKeyState> {
    old_key_state(redis, &EXTEND, args.keys, &[args.token, args.lease_ms, args.stamp])
}

/// Deletes the new key if the bridge holds it, and the old one if it still holds the bridge's value.
pub(crate) fn release(redis: &mut Transcript, keys: &[&Key], token: &[u8]) -> Turn<OldKeyState> {
    old_key_state(redis, &RELEASE, keys, &[token])
}

/// The same deletion as a command by itself, for a place where a script cannot be loaded first.
pub(crate) fn release_command(keys: &[&Key], token: &[u8]) -> Command {
    RELEASE.eval(keys, &[token])
}

fn old_key_state(redis: &mut Transcript, script: &Script, keys: &[&Key], args: &[&[u8]]) -> Turn<OldKeyState> {
    match redis.script_int(script, keys, args)? {
        0 => Ok(OldKeyState::Lost),
        1 => Ok(OldKeyState::Unchanged),
        _ => Ok(OldKeyState::Changed),
    }
}
