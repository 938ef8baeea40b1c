//! A holder that is a field of a hash.

use lockshift_lock::Ownership;
use lockshift_wire::{Key, Transcript, Turn};

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
