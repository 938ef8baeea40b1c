//! The token lock with a fence: a number that grows with every acquisition, for a resource that refuses a lower one than
//! the highest it has seen.
//!
//! Source: Martin Kleppmann, "How to do distributed locking", 2016.

use alloc::string::ToString;

use lockshift_lock::{
    Acquired, Extended, Hold, LateRelease, Lease, Locker, Owner, Ownership, RefusalScope, ReleaseChannel, Released,
};
use lockshift_wire::{Key, Script, Transcript, Turn, script_file};

use crate::{Publish, TokenLock, fence};

const ACQUIRE: Script = script_file!("lua/fenced/acquire.lua");

/// A [`TokenLock`] whose holds carry a [`fence`](Hold::fence): a number that grows with every acquisition.
///
/// Both keep the same bytes in the key, so they can share it; a hold of a plain token lock has no fence.
///
/// A fence is greater than all before it while its counter survives, whatever the server's clock does. If the counter is
/// evicted, deleted, or falls back in a failover, the next fence is still greater, provided that the server's clock (or that
/// of the replica which took its place) is then ahead of what it was at the last acquisition: a fence is never below that
/// clock, in microseconds since 1970. So fences have gaps, and only their order means anything. They stay below 2^53 until
/// the year 2255. A counter that something else has written is refused with `NOFENCE`, and no lock is acquired. Needs Redis 3.2.
#[derive(Clone, Debug)]
pub struct FencedTokenLock {
    lock: TokenLock,
    counter: Key,
}

impl FencedTokenLock {
    /// A fenced token lock on `key` with this lease. Its counter is the sibling key `fence`.
    pub fn new(key: Key, lease: Lease) -> Self {
        Self { counter: key.sibling("fence"), lock: TokenLock::new(key, lease) }
    }

    /// Publishes each release, on the same channel as [`TokenLock::announced`].
    #[must_use]
    pub fn announced(self, announce: Publish) -> Self {
        Self { lock: self.lock.announced(announce), ..self }
    }
}

impl Locker for FencedTokenLock {
    fn key(&self) -> &Key {
        self.lock.key()
    }

    fn lease(&self) -> Lease {
        self.lock.lease()
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let token = owner.token.hex().into_bytes();
        let since = redis.clock()?;
        let lease_ms = self.lease().length().as_millis().to_string();
        let args = [token.as_slice(), lease_ms.as_bytes()];
        match fence::count(&ACQUIRE, &[self.key(), &self.counter], &args, redis)? {
            None => self.lock.held(redis),
            fence @ Some(_) => Ok(Acquired::Won(Hold { value: token, since, lease: self.lease(), fence })),
        }
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        self.lock.release(hold, redis)
    }

    fn late_release(&self) -> LateRelease {
        self.lock.late_release()
    }

    fn release_is_repeatable(&self) -> bool {
        self.lock.release_is_repeatable()
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        self.lock.extend(hold, redis)
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        self.lock.ownership(hold, redis)
    }

    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        self.lock.disclaim(owner, redis)
    }

    fn release_channel(&self, owner: &Owner) -> Option<ReleaseChannel> {
        self.lock.release_channel(owner)
    }

    fn refusal_scope(&self) -> RefusalScope {
        self.lock.refusal_scope()
    }
}
