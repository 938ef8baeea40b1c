//! The token lock.
//!
//! Source: Redis documentation, "Distributed Locks with Redis", and the SET page, "Patterns".

use lockshift_lock::{Acquired, Extended, Held, Hold, Lease, Locker, Owner, Released, Standing, Why};
use lockshift_wire::{Expiry, Key, Only, Set, Transcript, Turn};

use crate::scripts::{EXTEND, RELEASE};

/// `SET key token NX PX lease`; released and extended only while the key holds the token.
#[derive(Clone, Debug)]
pub struct TokenLock {
    key: Key,
    lease: Lease,
}

impl TokenLock {
    /// A token lock on `key`, for `lease` at a time.
    pub fn new(key: Key, lease: Lease) -> Self {
        Self { key, lease }
    }
}

impl Locker for TokenLock {
    fn key(&self) -> &Key {
        &self.key
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let since = redis.clock()?;
        let token = owner.token.hex().into_bytes();
        let set = Set::new(&self.key, &token).only(Only::IfMissing).expiry(Expiry::Px(self.lease.length()));
        if redis.set(&set)? {
            return Ok(Acquired::Won(Hold { value: token, since, lease: self.lease, fence: None }));
        }
        Ok(Acquired::Held(Held::because(Why::Live)))
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let freed = redis.script_flag(&RELEASE, &[&self.key], &[&hold.value])?;
        Ok(if freed { Released::Freed } else { Released::Lost })
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        let since = redis.clock()?;
        let lease_ms = alloc::format!("{}", self.lease.length().as_millis());
        let extended = redis.script_flag(&EXTEND, &[&self.key], &[&hold.value, lease_ms.as_bytes()])?;
        Ok(if extended { Extended::Until(Hold { since, ..hold.clone() }) } else { Extended::Lost })
    }

    fn standing(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Standing> {
        match redis.get(&self.key)? {
            None => Ok(Standing::Free),
            Some(value) if value != hold.value => Ok(Standing::Theirs),
            Some(_) => Ok(Standing::Ours { left: redis.pttl(&self.key)?.left_of_millis() }),
        }
    }

    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        redis.script_flag(&RELEASE, &[&self.key], &[owner.token.hex().as_bytes()]).map(drop)
    }
}
