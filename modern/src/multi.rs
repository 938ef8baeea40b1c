//! A lock on several keys at once, acquired on all of them or on none by one command.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::time::Duration;

use lockshift_lock::{
    Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Owner, Ownership, Refusal, RefusalScope,
    ReleaseChannel, Released,
};
use lockshift_wire::{Key, Script, Transcript, Turn, script_file};
use thiserror::Error;

use crate::Publish;

const ACQUIRE: Script = script_file!("lua/multi/acquire.lua");
const RELEASE: Script = script_file!("lua/multi/release.lua");
const RELEASE_ANNOUNCED: Script = script_file!("lua/multi/release_announced.lua");
const EXTEND: Script = script_file!("lua/multi/extend.lua");

/// A lock on several keys: it is won on all of them or on none, and lost when it is lost on one.
///
/// Each key holds the token, as that of a [`TokenLock`](crate::TokenLock) does, and the two respect each other. No order of
/// keys can end in a deadlock, because no client ever holds some of the keys while it waits for the others.
///
/// At most a few thousand keys: Lua's stack limits the script. From 8,000 keys on the server refuses each attempt with an error,
/// `too many results to unpack`, and locks nothing.
#[derive(Clone, Debug)]
pub struct MultiKeyLock {
    keys: Vec<Key>,
    lease: Lease,
    announced: Option<Publish>,
}

/// Why these keys cannot be locked by one command.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MultiKeyError {
    /// The list of keys is empty.
    #[error("a lock on several keys needs at least one key")]
    NoKey,
    /// Two keys are in different hash slots, which may be on different servers of a cluster.
    #[error(
        "`{one}` and `{other}` are in different hash slots ({} and {}): one command cannot lock both. Give them a common \
         {{hash tag}}",
        one.slot(),
        other.slot()
    )]
    DifferentSlots {
        /// The first key.
        one: Key,
        /// The first that is in another slot.
        other: Key,
    },
}

impl MultiKeyLock {
    /// A lock on these keys with this lease. A key that is given twice counts once.
    ///
    /// # Errors
    /// [`MultiKeyError`]: the list is empty, or the keys are not all in one hash slot.
    pub fn new(keys: impl IntoIterator<Item = Key>, lease: Lease) -> Result<Self, MultiKeyError> {
        let mut distinct: Vec<Key> = Vec::new();
        for key in keys {
            match distinct.first() {
                Some(one) if one.slot() != key.slot() => {
                    return Err(MultiKeyError::DifferentSlots { one: one.clone(), other: key });
                }
                _ if distinct.contains(&key) => {}
                _ => distinct.push(key),
            }
        }
        if distinct.is_empty() {
            return Err(MultiKeyError::NoKey);
        }
        Ok(Self { keys: distinct, lease: lease.rounded_up_to(Duration::from_millis(1)), announced: None })
    }

    /// Publishes each release for every key on its channel `{key}:released`, which
    /// [`TokenLock::announced`](crate::TokenLock::announced) uses too. A waiter subscribes to the channel of the first key,
    /// and tries again when the last lease that it knows of ends: put the most contended key first.
    #[must_use]
    pub fn announced(self, announce: Publish) -> Self {
        Self { announced: Some(announce), ..self }
    }

    /// The keys, each once, in the order in which they were given.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn all(&self) -> Vec<&Key> {
        self.keys.iter().collect()
    }

    /// Deletes the keys that hold the token: whether all did.
    fn delete(&self, token: &[u8], redis: &mut Transcript) -> Turn<bool> {
        let deleted = match self.announced {
            None => redis.script_int(&RELEASE, &self.all(), &[token])?,
            Some(announce) => {
                let channels: Vec<Key> = self.keys.iter().map(|key| key.sibling("released")).collect();
                let keys: Vec<&Key> = self.keys.iter().chain(&channels).collect();
                redis.script_int(&RELEASE_ANNOUNCED, &keys, &[token, announce.command()])?
            }
        };
        Ok(usize::try_from(deleted) == Ok(self.keys.len()))
    }
}

impl Locker for MultiKeyLock {
    /// The first of them.
    fn key(&self) -> &Key {
        &self.keys[0]
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let token = owner.token.hex().into_bytes();
        let since = redis.clock()?;
        let lease_ms = self.lease.length().as_millis().to_string();
        let wait_ms = redis.script_int(&ACQUIRE, &self.all(), &[&token, lease_ms.as_bytes()])?;
        Ok(match u64::try_from(wait_ms) {
            Err(_) => Acquired::Won(Hold { value: token, since, lease: self.lease, fence: None }),
            Ok(wait_ms) => {
                Acquired::Held(Held { retry_in: Some(Duration::from_millis(wait_ms)), ..Held::because(Refusal::Live) })
            }
        })
    }

    /// Deletes what is ours; if one key was not, the lock as a whole had been lost.
    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        Ok(if self.delete(&hold.value, redis)? { Released::Freed } else { Released::Lost })
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::Harmless
    }

    fn release_is_repeatable(&self) -> bool {
        true
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        let since = redis.clock()?;
        let lease_ms = self.lease.length().as_millis().to_string();
        let extended = redis.script_flag(&EXTEND, &self.all(), &[&hold.value, lease_ms.as_bytes()])?;
        Ok(if extended { Extended::Until(Hold { since, ..hold.clone() }) } else { Extended::Lost })
    }

    /// The worst ownership of any key: held by another client, then free, then ours with the shortest remaining time.
    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        let (mut left, mut one_is_free) = (None, false);
        for key in &self.keys {
            let ttl = redis.pttl(key)?.left_of_millis();
            match redis.get(key)? {
                Some(token) if token != hold.value => return Ok(Ownership::Theirs),
                Some(_) => left = [left, ttl].into_iter().flatten().min(),
                None => one_is_free = true,
            }
        }
        Ok(if one_is_free { Ownership::Free } else { Ownership::Ours { left } })
    }

    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        self.delete(owner.token.hex().as_bytes(), redis).map(drop)
    }

    fn release_channel(&self, _: &Owner) -> Option<ReleaseChannel> {
        self.announced.map(|announce| announce.release_channel(&self.keys[0].sibling("released")))
    }

    fn refusal_scope(&self) -> RefusalScope {
        RefusalScope::OtherKeys
    }
}
