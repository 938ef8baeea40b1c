//! When a key expires: EXPIRE and its kin, PERSIST, TTL and its kin.

use super::call::{Answer, Call, Row, flag};
use super::refusal::Refusal;
use crate::wire::{CommandWord, Reply};

pub(super) const ROWS: &[Row] = &[
    Row::writes("expire", -3, |call| expire(call, 1000, call.now.as_millis())),
    Row::writes("pexpire", -3, |call| expire(call, 1, call.now.as_millis())),
    Row::writes("expireat", -3, |call| expire(call, 1000, 0)),
    Row::writes("pexpireat", -3, |call| expire(call, 1, 0)),
    Row::writes("persist", 2, persist),
    Row::reads("ttl", 2, |call| Ok(left(call, call.now.as_millis()).map_or_else(Reply::Int, to_secs))),
    Row::reads("pttl", 2, |call| Ok(left(call, call.now.as_millis()).map_or_else(Reply::Int, Reply::Int))),
    Row::reads("expiretime", 2, |call| Ok(left(call, 0).map_or_else(Reply::Int, to_secs))),
    Row::reads("pexpiretime", 2, |call| Ok(left(call, 0).map_or_else(Reply::Int, Reply::Int))),
];

/// Under which conditions the expiry is set.
#[derive(Clone, Copy, Debug, Default)]
struct Only {
    without_expiry: bool,
    with_expiry: bool,
    if_later: bool,
    if_sooner: bool,
}

fn expire(call: &mut Call<'_>, unit_ms: i64, from_ms: i64) -> Answer {
    let only = conditions(&call.args()[2..])?;
    let deadline_ms = call
        .integer(1)?
        .checked_mul(unit_ms)
        .and_then(|millis| millis.checked_add(from_ms))
        .ok_or(Refusal::ExpireTime(call.name))?;
    let key = call.key(0);
    let Some(entry) = call.entry(&key) else { return Ok(flag(false)) };
    let allowed = only.allow(entry.deadline_ms, deadline_ms);
    if allowed {
        call.expire(&key, Some(deadline_ms));
    }
    Ok(flag(allowed))
}

impl Only {
    /// A key without an expiry counts as one that ends later than any other.
    fn allow(self, current_ms: Option<i64>, new_ms: i64) -> bool {
        let refused = (self.without_expiry && current_ms.is_some())
            || (self.with_expiry && current_ms.is_none())
            || (self.if_later && current_ms.is_none_or(|current_ms| new_ms <= current_ms))
            || (self.if_sooner && current_ms.is_some_and(|current_ms| new_ms >= current_ms));
        !refused
    }
}

fn conditions(words: &[CommandWord]) -> Result<Only, Refusal> {
    let mut only = Only::default();
    for word in words {
        match word.to_ascii_uppercase().as_slice() {
            b"NX" => only.without_expiry = true,
            b"XX" => only.with_expiry = true,
            b"GT" => only.if_later = true,
            b"LT" => only.if_sooner = true,
            _ => return Err(Refusal::err(format_args!("Unsupported option {}", String::from_utf8_lossy(word)))),
        }
    }
    if only.without_expiry && (only.with_expiry || only.if_later || only.if_sooner) {
        return Err(Refusal::err("NX and XX, GT or LT options at the same time are not compatible"));
    }
    if only.if_later && only.if_sooner {
        return Err(Refusal::err("GT and LT options at the same time are not compatible"));
    }
    Ok(only)
}

fn persist(call: &mut Call<'_>) -> Answer {
    let key = call.key(0);
    let had_expiry = call.entry(&key).is_some_and(|entry| entry.deadline_ms.is_some());
    if had_expiry {
        call.expire(&key, None);
    }
    Ok(flag(had_expiry))
}

/// Milliseconds from then to the deadline; or -1 without a deadline, -2 without a key.
fn left(call: &Call<'_>, from_ms: i64) -> Result<i64, i64> {
    let entry = call.entry(&call.key(0)).ok_or(-2)?;
    let deadline_ms = entry.deadline_ms.ok_or(-1)?;
    Ok(deadline_ms.saturating_sub(from_ms).max(0))
}

/// Seconds, rounded to the nearest.
fn to_secs(millis: i64) -> Reply {
    Reply::Int(millis.saturating_add(500) / 1000)
}
