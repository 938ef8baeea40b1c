//! A holder that is a field of a hash.

use lockshift_lock::{Owner, Ownership};
use lockshift_wire::{Key, Transcript, Turn};

/// Whether the field counts more entries than the owner's thread has holds: then one is of an attempt whose reply was lost.
///
/// Only the thread itself enters, so the count cannot grow between this question and a release.
pub(crate) fn has_surplus_entry(key: &Key, field: &[u8], owner: &Owner, redis: &mut Transcript) -> Turn<bool> {
    let count = redis.hget(key, field)?.and_then(|count| str::from_utf8(&count).ok()?.parse::<u32>().ok());
    Ok(count.unwrap_or(0) > owner.entries)
}

/// The owner of the lock. Reads the TTL first and the field second, as [`TokenLock`](crate::TokenLock) does.
pub(crate) fn ownership(key: &Key, field: &[u8], redis: &mut Transcript) -> Turn<Ownership> {
    let ttl = redis.pttl(key)?;
    Ok(if redis.hexists(key, field)? {
        Ownership::Ours { left: ttl.left_of_millis() }
    } else if redis.exists(key)? {
        Ownership::Theirs
    } else {
        Ownership::Free
    })
}
