//! Protocols for the drivers to stumble over: small ones, each with the trait that a driver must cope with.

use std::time::Duration;

use lockshift::lock::{
    Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Owner, Ownership, Refusal, Released,
};
use lockshift::wire::{Command, Expiry, Key, Only, Set, Transcript, Turn};

/// Two steps where others need one: SETNX, then EXPIRE. It cannot be extended.
#[derive(Debug)]
pub(super) struct SetnxExpire(Key);

impl SetnxExpire {
    pub(super) fn new(key: &str) -> Self {
        Self(Key::from(key))
    }
}

impl Locker for SetnxExpire {
    fn key(&self) -> &Key {
        &self.0
    }

    fn lease(&self) -> Lease {
        Lease::new(Duration::from_secs(3600)).unwrap()
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let since = redis.clock()?;
        let value = owner.token.hex().into_bytes();
        if !redis.setnx(&self.0, &value)? {
            return Ok(Acquired::Held(Held::because(Refusal::Live)));
        }
        redis.expire(&self.0, 3600)?;
        Ok(Acquired::Won(Hold { value, since, lease: self.lease(), fence: None }))
    }

    fn release(&self, _: &Hold, redis: &mut Transcript) -> Turn<Released> {
        Ok(if redis.del(&self.0)? { Released::Freed } else { Released::Lost })
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::MayFreeAnother
    }

    fn extend(&self, _: &Hold, _: &mut Transcript) -> Turn<Extended> {
        Ok(Extended::Unsupported)
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        Ok(match redis.get(&self.0)? {
            None => Ownership::Free,
            Some(value) if value == hold.value => Ownership::Ours { left: None },
            Some(_) => Ownership::Theirs,
        })
    }

    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        if redis.get(&self.0)? == Some(owner.token.hex().into_bytes()) {
            redis.del(&self.0)?;
        }
        Ok(())
    }
}

/// WATCH, GET, MULTI, SET, EXEC: broken by any other client of the same connection.
#[derive(Debug)]
pub(super) struct Watched(pub(super) Key);

impl Locker for Watched {
    fn key(&self) -> &Key {
        &self.0
    }

    fn lease(&self) -> Lease {
        Lease::new(Duration::from_secs(3600)).unwrap()
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let since = redis.clock()?;
        let value = owner.token.hex().into_bytes();
        redis.watch(&self.0)?;
        if redis.get(&self.0)?.is_some() {
            redis.unwatch()?;
            return Ok(Acquired::Held(Held::because(Refusal::Live)));
        }
        let set = Set::new(&self.0, &value).expiry(Expiry::Px(self.lease().length()));
        Ok(match redis.transaction(&[set.command()])? {
            Some(_) => Acquired::Won(Hold { value, since, lease: self.lease(), fence: None }),
            None => Acquired::Held(Held::because(Refusal::LostTakeover)),
        })
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        redis.watch(&self.0)?;
        if redis.get(&self.0)?.as_ref() != Some(&hold.value) {
            redis.unwatch()?;
            return Ok(Released::Lost);
        }
        let freed = redis.transaction(&[Command::new("DEL").arg(&self.0)])?.is_some();
        Ok(if freed { Released::Freed } else { Released::Lost })
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::Harmless
    }

    fn extend(&self, _: &Hold, _: &mut Transcript) -> Turn<Extended> {
        Ok(Extended::Unsupported)
    }

    fn ownership(&self, _: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        Ok(if redis.exists(&self.0)? { Ownership::Indistinct { left: None } } else { Ownership::Free })
    }

    fn needs_own_connection(&self) -> bool {
        true
    }
}

/// Every extension writes another value, as the old clients' stamps do.
#[derive(Debug)]
#[cfg_attr(not(feature = "tokio"), allow(dead_code, reason = "only a task can be cancelled"))]
pub(super) struct Restamped(pub(super) Key);

#[cfg_attr(not(feature = "tokio"), allow(dead_code, reason = "only a task can be cancelled"))]
impl Restamped {
    fn written(&self, value: Vec<u8>, only: Only<'_>, redis: &mut Transcript) -> Turn<Option<Hold>> {
        let since = redis.clock()?;
        let set = Set::new(&self.0, &value).only(only).expiry(Expiry::Px(self.lease().length()));
        Ok(redis.set(&set)?.then(|| Hold { value: value.clone(), since, lease: self.lease(), fence: None }))
    }
}

impl Locker for Restamped {
    fn key(&self) -> &Key {
        &self.0
    }

    fn lease(&self) -> Lease {
        Lease::new(Duration::from_secs(3600)).unwrap()
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let written = self.written(owner.token.hex().into_bytes(), Only::IfMissing, redis)?;
        Ok(written.map_or(Acquired::Held(Held::because(Refusal::Live)), Acquired::Won))
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        if redis.get(&self.0)?.as_ref() != Some(&hold.value) {
            return Ok(Released::Lost);
        }
        Ok(if redis.del(&self.0)? { Released::Freed } else { Released::Lost })
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::MayFreeAnother
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        let written = self.written([&hold.value[..], b"+"].concat(), Only::IfExists, redis)?;
        Ok(written.map_or(Extended::Lost, Extended::Until))
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        Ok(match redis.get(&self.0)? {
            None => Ownership::Free,
            Some(value) if value == hold.value => Ownership::Ours { left: None },
            Some(_) => Ownership::Theirs,
        })
    }
}
