//! Locks that only the tests know: a small GETSET lock, and planted mistakes.

use std::sync::Arc;
use std::time::Duration;

use lockshift::lock::{Acquired, Extended, Held, Hold, Lease, Locker, Owner, Released, Standing, Why};
use lockshift::modern::TokenLock;
use lockshift::wire::{Key, Transcript, Turn, UnixTime};

pub(crate) fn lease(secs: u64) -> Lease {
    Lease::new(Duration::from_secs(secs)).unwrap()
}

pub(crate) fn token(secs: u64) -> Arc<dyn Locker> {
    Arc::new(TokenLock::new(Key::from("k"), lease(secs)))
}

/// The lock of the SETNX page: stamps in seconds, verdict "still expired", plain DEL.
#[derive(Debug)]
pub(crate) struct GetSet {
    pub(crate) key: Key,
    pub(crate) lease: Lease,
    /// Whether the reply of GETSET is judged.
    pub(crate) judges: bool,
}

impl GetSet {
    pub(crate) fn lasting(secs: u64) -> Self {
        Self { key: Key::from("k"), lease: lease(secs), judges: true }
    }

    pub(crate) fn shared(secs: u64) -> Arc<dyn Locker> {
        Arc::new(Self::lasting(secs))
    }

    fn is_over(stamp: Option<&[u8]>, now: UnixTime) -> bool {
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
        if !Self::is_over(seen.as_deref(), now) {
            return Ok(Acquired::Held(Held::because(Why::Live)));
        }
        let old = redis.getset(&self.key, &stamp)?;
        let lost = self.judges && !Self::is_over(old.as_deref(), now);
        Ok(if lost { Acquired::Held(Held::because(Why::LostTakeover)) } else { won })
    }

    fn release(&self, _: &Hold, redis: &mut Transcript) -> Turn<Released> {
        Ok(if redis.del(&self.key)? { Released::Freed } else { Released::Lost })
    }

    fn extend(&self, _: &Hold, _: &mut Transcript) -> Turn<Extended> {
        Ok(Extended::NotSpoken)
    }

    fn standing(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Standing> {
        Ok(match redis.get(&self.key)? {
            None => Standing::Free,
            Some(stamp) if stamp == hold.value => Standing::Ours { left: None },
            Some(_) => Standing::Theirs,
        })
    }
}
