//! A holder that is a field of a hash.

use lockshift_lock::Standing;
use lockshift_wire::{Key, Transcript, Turn};

/// Whose the lock is. First for how long, then whose, as with [`TokenLock`](crate::TokenLock).
pub(crate) fn standing(key: &Key, field: &[u8], redis: &mut Transcript) -> Turn<Standing> {
    let ttl = redis.pttl(key)?;
    Ok(if redis.hexists(key, field)? {
        Standing::Ours { left: ttl.left_of_millis() }
    } else if redis.exists(key)? {
        Standing::Theirs
    } else {
        Standing::Free
    })
}
