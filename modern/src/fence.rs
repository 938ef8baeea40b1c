//! Fences: the acquiring script increments a counter, and the hold carries the count.
//!
//! # What a fence promises
//!
//! Each acquisition's fence is greater than that of every acquisition before it on the same lock:
//!
//! - while the counter survives, whatever the server's clock does: it is the last fence plus one at least;
//! - when the counter is lost (evicted, deleted, a restart without persistence) or falls back (a failover to a replica
//!   that lacks the last writes, a restored backup): as long as the server's clock is then ahead of what it was at the
//!   last acquisition. A fence is not below the server's clock in microseconds, and a counter cannot outrun that
//!   clock, because an acquisition takes longer than a microsecond.
//!
//! What remains: a counter that is lost while the clock of the server, or of the replica that takes its place, is behind
//! the last acquisition issues fences that it has issued before. Two clocks that agree within less than the time that a
//! failover takes are enough. `maxmemory-policy noeviction` and persistence keep the counter; `lockshift inspect` and
//! `lockshift scan` report a server that lacks them. Fences have gaps, and only their order means anything. They stay
//! below 2^53 until the year 2255, so Lua, JSON and JavaScript keep every digit; a counter beyond that, or one that is not
//! a count, is refused with `NOFENCE` before a lock is acquired.
//!
//! Redis before 3.2 refuses these scripts, because it cannot replicate a script that reads the clock.

use lockshift_wire::{Key, Reply, Script, Transcript, Turn};

/// Runs a script that acquires a lock and returns its fence, or 0 if the lock is held. Returns `None` if it is held.
pub(crate) fn count(script: &Script, keys: &[&Key], args: &[&[u8]], redis: &mut Transcript) -> Turn<Option<u64>> {
    match redis.script(script, keys, args)? {
        Reply::Int(0) => Ok(None),
        Reply::Int(count @ 1..) => Ok(Some(count.unsigned_abs())),
        other => Transcript::fault(script.evalsha(keys, args), other),
    }
}
