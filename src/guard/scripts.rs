//! What the guard sends to the server, as typed functions.

use crate::wire::{Key, Reply, Script, Transcript, Turn, UnixTime, script_file};

const LOOK: Script = script_file!("lua/look.lua");
const TAKE: Script = script_file!("lua/take.lua");
const RELEASE: Script = script_file!("lua/release.lua");

/// What the key holds, at a moment of the server's clock.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    pub(super) at: UnixTime,
    pub(super) content: Content,
}

/// What the key holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
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
    /// When its client stops relying on it, by the server's clock.
    pub(super) end: UnixTime,
}

/// What became of a stamp.
pub(super) enum Taken {
    Written,
    /// Nothing was written: the lease has ended meanwhile.
    TooLate,
    /// Nothing was written: the key holds something else.
    Changed(Sight),
}

/// Writes the stamp if there is no key, or if it holds exactly the judged value.
pub(super) fn take(redis: &mut Transcript, key: &Key, stamp: &Stamp<'_>, judged: Option<&[u8]>) -> Turn<Taken> {
    let ttl_ms = stamp.ttl_ms.map_or_else(String::new, |ttl_ms| ttl_ms.to_string());
    let end = (stamp.end.as_nanos() / 1_000).to_string();
    let args: Vec<&[u8]> = [stamp.value, ttl_ms.as_bytes(), end.as_bytes()].into_iter().chain(judged).collect();
    let reply = redis.script(&TAKE, &[key], &args)?;
    match (&reply, sight(&reply)) {
        (Reply::Array(items), _) if *items == [Reply::Int(1)] => Ok(Taken::Written),
        (Reply::Array(items), _) if *items == [Reply::Int(0)] => Ok(Taken::TooLate),
        (_, Some(sight)) => Ok(Taken::Changed(sight)),
        (_, None) => Transcript::fault(TAKE.evalsha(&[key], &args), reply),
    }
}

/// Deletes the key if it is as the guard wrote it. Returns whether it was.
pub(super) fn release(redis: &mut Transcript, key: &Key, stamp: &[u8], has_ttl: bool) -> Turn<bool> {
    redis.script_flag(&RELEASE, &[key], &[stamp, if has_ttl { b"1" } else { b"0" }])
}

fn sight(reply: &Reply) -> Option<Sight> {
    let Reply::Array(items) = reply else { return None };
    let [Reply::Bulk(secs), Reply::Bulk(micros), content] = items.as_slice() else { return None };
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<i64>().ok();
    let nanos = number(secs)?.checked_mul(1_000_000_000)?.checked_add(number(micros)?.checked_mul(1_000)?)?;
    let content = match content {
        Reply::Nil => Content::Nothing,
        Reply::Bulk(value) => Content::Value(value.clone()),
        _ => Content::NotString,
    };
    Some(Sight { at: UnixTime::from_nanos(nanos), content })
}
