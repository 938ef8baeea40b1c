//! What the guard sends to the server, as typed functions.

use crate::bridge::scripts as both_keys;
use crate::wire::{Command, Key, Reply, Script, Transcript, Turn, UnixTime, script_file};

const LOOK: Script = script_file!("lua/look.lua");
const TAKE: Script = script_file!("lua/take.lua");
const TAKE_BOTH: Script = script_file!("lua/take_both.lua");
const EXTEND: Script = script_file!("lua/extend.lua");
const RELEASE: Script = script_file!("lua/release.lua");

/// A script that only guards send.
#[cfg(feature = "sim")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardScript {
    Look,
    Take,
    TakeBoth,
    Extend,
    Release,
}

#[cfg(feature = "sim")]
impl GuardScript {
    /// All of them.
    pub(crate) const ALL: [Self; 5] = [Self::Look, Self::Take, Self::TakeBoth, Self::Extend, Self::Release];

    /// The script.
    pub(crate) const fn script(self) -> &'static Script {
        match self {
            Self::Look => &LOOK,
            Self::Take => &TAKE,
            Self::TakeBoth => &TAKE_BOTH,
            Self::Extend => &EXTEND,
            Self::Release => &RELEASE,
        }
    }

    /// Number of its keys.
    pub(crate) const fn keys(self) -> usize {
        match self {
            Self::Look | Self::Take | Self::Extend | Self::Release => 1,
            Self::TakeBoth => 2,
        }
    }

    /// Which of its arguments is the time to live that it gives.
    pub(crate) const fn ttl_at(self) -> Option<usize> {
        match self {
            Self::Take => Some(1),
            Self::TakeBoth | Self::Extend => Some(2),
            Self::Look | Self::Release => None,
        }
    }

    /// Which of its arguments are the first and the last moment at which it may write.
    pub(crate) const fn moments_at(self) -> Option<[usize; 2]> {
        match self {
            Self::Take => Some([2, 3]),
            Self::TakeBoth => Some([3, 4]),
            Self::Look | Self::Extend | Self::Release => None,
        }
    }
}

/// What the key holds, at a moment of the server's clock.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    pub(super) at: UnixTime,
    pub(super) content: KeyContent,
}

/// What the key holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyContent {
    Nothing,
    Value(Vec<u8>),
    /// It is not a string.
    NotString,
}

/// Looks at the key and at the server's clock.
pub(super) fn look(redis: &mut Transcript, key: &Key) -> Turn<Sight> {
    let reply = redis.script(&LOOK, &[key], &[])?;
    match sight(&reply) {
        Some(sight) => Ok(sight),
        None => Transcript::fault(LOOK.evalsha(&[key], &[]), reply),
    }
}

/// A stamp to write.
pub(super) struct Stamp<'a> {
    pub(super) value: &'a [u8],
    /// Its key's time to live; `None` if it lives for ever.
    pub(super) ttl_ms: Option<u128>,
}

/// The keys of a lock: the clients' own, and in bridge mode the new key with the token that the guard writes
/// there.
pub(super) struct LockKeys<'a> {
    pub(super) key: &'a Key,
    pub(super) beside: Option<(Key, Vec<u8>)>,
}

/// Moments of the server's clock, the first and the last included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) first: UnixTime,
    pub(super) last: UnixTime,
}

/// What became of a stamp.
pub(super) enum Taken {
    Written,
    /// Nothing was written: another client holds the new key.
    NewKeyHeld,
    /// Nothing was written: the key holds something else, or it is another time.
    Differs(Sight),
}

/// Writes the stamp at these moments, if there is no key or if it holds exactly the judged value; with the new key, if
/// nothing is in that.
pub(super) fn take(
    redis: &mut Transcript,
    lock: &LockKeys<'_>,
    stamp: &Stamp<'_>,
    when: Span,
    judged: Option<&[u8]>,
) -> Turn<Taken> {
    let ttl_ms = stamp.ttl_ms.map_or_else(String::new, |ttl_ms| ttl_ms.to_string());
    let micros = |moment: UnixTime| moment.as_nanos().div_euclid(1_000).to_string();
    let (first, last) = (micros(when.first), micros(when.last));
    let LockKeys { key, beside } = lock;
    let (script, keys): (_, &[&Key]) = match beside {
        None => (&TAKE, &[key]),
        Some((new, _)) => (&TAKE_BOTH, &[new, key]),
    };
    let mut args = Vec::with_capacity(6);
    args.extend(beside.as_ref().map(|(_, token)| token.as_slice()));
    args.extend([stamp.value, ttl_ms.as_bytes(), first.as_bytes(), last.as_bytes()]);
    args.extend(judged);
    redis.script_answer(script, keys, &args, |reply| match reply {
        Reply::Int(1) => Some(Taken::Written),
        Reply::Int(2) => Some(Taken::NewKeyHeld),
        _ => sight(reply).map(Taken::Differs),
    })
}

/// Whether this command of the guard may write a lock.
pub(super) fn is_take(command: &Command) -> bool {
    let is_run = |script: &Script| {
        command
            .words()
            .get(1)
            .is_some_and(|word| *word == script.sha1_hex().as_bytes() || *word == script.text().as_bytes())
    };
    is_run(&TAKE) || is_run(&TAKE_BOTH)
}

/// What was written to the key of a lock.
#[derive(Clone, Copy)]
pub(super) struct WrittenStamp<'a> {
    pub(super) value: &'a [u8],
    /// Whether it was written with a time to live, without which the key holds what another client has written back.
    pub(super) has_ttl: bool,
}

/// Replaces the stamp that was written by this one, if the lock is as it was written. Returns whether the client still
/// holds the lock.
pub(super) fn extend(
    redis: &mut Transcript,
    lock: &LockKeys<'_>,
    written: WrittenStamp<'_>,
    stamp: &Stamp<'_>,
) -> Turn<bool> {
    let ttl_ms = stamp.ttl_ms.map_or_else(String::new, |ttl_ms| ttl_ms.to_string()).into_bytes();
    match &lock.beside {
        None => redis.script_flag(&EXTEND, &[lock.key], &[written.value, stamp.value, &ttl_ms, flag(written.has_ttl)]),
        Some((new, token)) => {
            let keys = [new, lock.key];
            let args = both_keys::ScriptArgs { keys: &keys, token, lease_ms: &ttl_ms, stamp: stamp.value };
            Ok(both_keys::extend(redis, &args)? != both_keys::OldKeyState::Lost)
        }
    }
}

/// Deletes the lock if it is as it was written. Returns whether the key was.
pub(super) fn release(redis: &mut Transcript, lock: &LockKeys<'_>, written: WrittenStamp<'_>) -> Turn<bool> {
    match &lock.beside {
        None => redis.script_flag(&RELEASE, &[lock.key], &[written.value, flag(written.has_ttl)]),
        Some((new, token)) => {
            let state = both_keys::release(redis, &[new, lock.key], token)?;
            Ok(state == both_keys::OldKeyState::Unchanged)
        }
    }
}

/// The same deletion as a command of a transaction, where no script can be loaded first.
pub(super) fn release_in_transaction(lock: &LockKeys<'_>, written: WrittenStamp<'_>) -> Command {
    match &lock.beside {
        None => RELEASE.eval(&[lock.key], &[written.value, flag(written.has_ttl)]),
        Some((new, token)) => both_keys::release_command(&[new, lock.key], token),
    }
}

/// A command of a transaction that does nothing and has this reply.
pub(super) fn answer_in_transaction(reply: i64) -> Command {
    Command::new("EVAL").arg(format!("return {reply}")).arg("0")
}

fn flag(is_set: bool) -> &'static [u8] {
    if is_set { b"1" } else { b"0" }
}

fn sight(reply: &Reply) -> Option<Sight> {
    let Reply::Array(items) = reply else { return None };
    let [Reply::Bulk(secs), Reply::Bulk(micros), content] = items.as_slice() else { return None };
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<i64>().ok();
    let nanos = number(secs)?.checked_mul(1_000_000_000)?.checked_add(number(micros)?.checked_mul(1_000)?)?;
    let content = match content {
        Reply::Nil => KeyContent::Nothing,
        Reply::Bulk(value) => KeyContent::Value(value.clone()),
        _ => KeyContent::NotString,
    };
    Some(Sight { at: UnixTime::from_nanos(nanos), content })
}
