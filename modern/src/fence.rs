//! Fences: a script that takes a lock counts, and its holder carries the count.

use lockshift_wire::{Key, Reply, Script, Transcript, Turn};

/// Runs a script that takes a lock and answers the count, or 0 where the lock is held: the count, or `None`.
pub(crate) fn count(script: &Script, keys: &[&Key], args: &[&[u8]], redis: &mut Transcript) -> Turn<Option<u64>> {
    match redis.script(script, keys, args)? {
        Reply::Int(0) => Ok(None),
        Reply::Int(count @ 1..) => Ok(Some(count.unsigned_abs())),
        other => Transcript::fault(script.evalsha(keys, args), other),
    }
}
