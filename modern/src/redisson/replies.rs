//! The replies of the scripts.

use core::time::Duration;

use lockshift_lock::{Extended, Held, Hold, Refusal};
use lockshift_wire::{Key, Reply, Script, Transcript, Turn};

/// Runs a script that acquires. Returns `None` if the owner has entered, otherwise the remaining lease of the holder.
pub(super) fn enter(script: &Script, keys: &[&Key], args: &[&[u8]], redis: &mut Transcript) -> Turn<Option<Held>> {
    match redis.script(script, keys, args)? {
        Reply::Nil => Ok(None),
        Reply::Int(left_ms) => Ok(Some(held_for(left_ms))),
        other => Transcript::fault(script.evalsha(keys, args), other),
    }
}

/// Runs the script that acquires a fenced lock. Returns the fence, or the remaining lease of the holder. A negative count,
/// which only another program can have written, is not a fence.
pub(super) fn enter_fenced(
    script: &Script,
    keys: &[&Key],
    args: &[&[u8]],
    redis: &mut Transcript,
) -> Turn<Result<Option<u64>, Held>> {
    let reply = redis.script(script, keys, args)?;
    match &reply {
        Reply::Array(items) => match items.as_slice() {
            [Reply::Int(left_ms), Reply::Int(-1)] => Ok(Err(held_for(*left_ms))),
            [Reply::Int(-1), Reply::Int(fence)] => Ok(Ok(u64::try_from(*fence).ok())),
            _ => Transcript::fault(script.evalsha(keys, args), reply),
        },
        _ => Transcript::fault(script.evalsha(keys, args), reply),
    }
}

/// Runs a script that renews a hold.
pub(super) fn renew(
    script: &Script,
    keys: &[&Key],
    args: &[&[u8]],
    hold: &Hold,
    redis: &mut Transcript,
) -> Turn<Extended> {
    let since = redis.clock()?;
    let reply = redis.script(script, keys, args)?;
    match &reply {
        Reply::Array(items) if *items == [Reply::Int(1)] => Ok(Extended::Until(Hold { since, ..hold.clone() })),
        Reply::Array(items) if *items == [Reply::Int(0)] => Ok(Extended::Lost),
        _ => Transcript::fault(script.evalsha(keys, args), reply),
    }
}

/// Held by another owner, with the remaining time as returned by PTTL in milliseconds; a negative value means unknown.
fn held_for(left_ms: i64) -> Held {
    Held { retry_in: u64::try_from(left_ms).ok().map(Duration::from_millis), ..Held::because(Refusal::Live) }
}
