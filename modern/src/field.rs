//! A holder that is a field of a hash.

use lockshift_lock::Ownership;
use lockshift_wire::{Key, Transcript, Turn};

/// Whose the lock is. First for how long, then whose, as with [`TokenLock`](crate::TokenLock).
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
