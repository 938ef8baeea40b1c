//! Locks that only these tests know: the lock of the SETNX page in small, and classic mistakes, planted.

use std::sync::Arc;
use std::time::Duration;

use lockshift::lock::{
    Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Owner, Ownership, Refusal, Released,
};
use lockshift::modern::TokenLock;
use lockshift::wire::{Command, Expiry, Key, Only, Reply, Set, Transcript, Turn, UnixTime};

pub(crate) fn lease(secs: u64) -> Lease {
    Lease::new(Duration::from_secs(secs)).unwrap()
}

/// The token lock as it ships.
pub(crate) fn token(secs: u64) -> Arc<dyn Locker> {
    Arc::new(TokenLock::new(Key::from("k"), lease(secs)))
}

/// The lock of the SETNX page as it should be.
pub(crate) fn getset(secs: u64) -> Arc<dyn Locker> {
    Arc::new(GetSet { key: Key::from("k"), lease: lease(secs), judges: true })
}

/// SETNX with stamps in seconds, takeover by GETSET, plain DEL.
#[derive(Debug)]
pub(crate) struct GetSet {
    pub(crate) key: Key,
    pub(crate) lease: Lease,
    /// Whether what GETSET answers is judged.
    pub(crate) judges: bool,
}

impl GetSet {
    fn has_expired(stamp: Option<&[u8]>, now: UnixTime) -> bool {
        let secs = stamp.and_then(|stamp| std::str::from_utf8(stamp).ok()?.parse::<i64>().ok());
        secs.is_none_or(|secs| secs < now.as_secs())
    }
}

impl Locker for GetSet {
    fn key(&self) -> &Key {
        &self.key
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    fn acquire(&self, _: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let since = redis.clock()?;
        let stamp = since.wall.saturating_add(self.lease.length()).as_secs().to_string().into_bytes();
        let won = Acquired::Won(Hold { value: stamp.clone(), since, lease: self.lease, fence: None });
        if redis.setnx(&self.key, &stamp)? {
            return Ok(won);
        }
        let seen = redis.get(&self.key)?;
        let now = redis.now()?;
        if !Self::has_expired(seen.as_deref(), now) {
            return Ok(Acquired::Held(Held::because(Refusal::Live)));
        }
        let old = redis.getset(&self.key, &stamp)?;
        let lost = self.judges && !Self::has_expired(old.as_deref(), now);
        Ok(if lost { Acquired::Held(Held::because(Refusal::LostTakeover)) } else { won })
    }

    fn release(&self, _: &Hold, redis: &mut Transcript) -> Turn<Released> {
        Ok(if redis.del(&self.key)? { Released::Freed } else { Released::Lost })
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::MayFreeAnother
    }

    fn extend(&self, _: &Hold, _: &mut Transcript) -> Turn<Extended> {
        Ok(Extended::Unsupported)
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        Ok(match redis.get(&self.key)? {
            None => Ownership::Free,
            Some(value) if value == hold.value => Ownership::Ours { left: None },
            Some(_) => Ownership::Theirs,
        })
    }
}

/// A token lock with a mistake in it.
#[derive(Debug)]
pub(crate) struct Mistaken {
    pub(crate) key: Key,
    pub(crate) lease: Lease,
    pub(crate) mistake: Mistake,
}

/// Where [`Mistaken`] goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// Nowhere: GET and DEL in one transaction that WATCH guards.
    None,
    /// DEL without a look at the value.
    PlainDel,
    /// PEXPIRE without a look at the value.
    BlindRenewal,
    /// No expiry at all.
    NoLease,
    /// EXISTS, then SET.
    CheckThenSet,
    /// Says that it freed the lock, whatever the server says.
    SaysYes,
}

impl Mistaken {
    pub(crate) fn shared(mistake: Mistake, secs: u64) -> Arc<dyn Locker> {
        Arc::new(Self { key: Key::from("k"), lease: lease(secs), mistake })
    }

    /// Runs a command if, and only if, the key holds our value: whether it did something.
    fn if_ours(&self, hold: &Hold, command: Command, redis: &mut Transcript) -> Turn<bool> {
        redis.watch(&self.key)?;
        if redis.get(&self.key)?.as_ref() != Some(&hold.value) {
            redis.unwatch()?;
            return Ok(false);
        }
        Ok(redis.transaction(&[command])? == Some(vec![Reply::Int(1)]))
    }
}

impl Locker for Mistaken {
    fn key(&self) -> &Key {
        &self.key
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let value = owner.token.uuid().into_bytes();
        let since = redis.clock()?;
        let set = Set::new(&self.key, &value);
        let set = if self.mistake == Mistake::NoLease { set } else { set.expiry(Expiry::Px(self.lease.length())) };
        let won = if self.mistake == Mistake::CheckThenSet {
            !redis.exists(&self.key)? && redis.set(&set)?
        } else {
            redis.set(&set.only(Only::IfMissing))?
        };
        if won {
            return Ok(Acquired::Won(Hold { value, since, lease: self.lease, fence: None }));
        }
        Ok(Acquired::Held(Held::because(Refusal::Live)))
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        if self.mistake == Mistake::PlainDel {
            return Ok(if redis.del(&self.key)? { Released::Freed } else { Released::Lost });
        }
        let freed = self.if_ours(hold, Command::new("DEL").arg(&self.key), redis)?;
        Ok(if freed || self.mistake == Mistake::SaysYes { Released::Freed } else { Released::Lost })
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::Harmless
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        let since = redis.clock()?;
        let lease_ms = i64::try_from(self.lease.length().as_millis()).unwrap();
        let extended = if self.mistake == Mistake::BlindRenewal {
            redis.pexpire(&self.key, lease_ms)?
        } else {
            self.if_ours(hold, Command::new("PEXPIRE").arg(&self.key).arg_int(lease_ms), redis)?
        };
        Ok(if extended { Extended::Until(Hold { since, ..hold.clone() }) } else { Extended::Lost })
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        Ok(match redis.get(&self.key)? {
            None => Ownership::Free,
            Some(value) if value == hold.value => Ownership::Ours { left: None },
            Some(_) => Ownership::Theirs,
        })
    }

    fn needs_own_connection(&self) -> bool {
        true
    }
}
