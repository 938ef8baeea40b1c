//! The class of the Jedis article: all locks of one client, re-entrant by a count per thread and key.
//!
//! Source: Jedis article, class `RedisDistributedLock`. The count lives in the client alone; the value that a thread
//! passes when it enters again is not compared with anything. One flag stands for the renewal of every key.

use alloc::collections::BTreeMap;

use lockshift_lock::Lease;
use lockshift_wire::{Expiry, Key, Only, Pending, Set, Transcript, Turn};

use super::Renewal;
use crate::scripts;

/// What the client knows of its locks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JedisLocks {
    /// How often each thread has entered each lock: the `ThreadLocal<Map<String, Integer>>`.
    counts: BTreeMap<(u64, Key), u32>,
    /// `persistentExpireFlag`: whether renewals go on, all of them.
    renews: bool,
    /// `persistentExpireTimes`: how often each lock is renewed at most.
    renewals_most: u32,
}

/// How `lock` ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Locked {
    /// The client's state from now on.
    pub locks: JedisLocks,
    /// What it answers.
    pub answer: bool,
    /// The renewal that it has started in the background.
    pub renewal: Option<Renewal>,
}

/// How `unLock` ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unlocked {
    /// The client's state from now on.
    pub locks: JedisLocks,
    /// What it answers: `true` also where the lock had been lost.
    pub answer: bool,
}

impl Default for JedisLocks {
    /// With four renewals at most.
    fn default() -> Self {
        Self::new(4)
    }
}

impl JedisLocks {
    /// A client that holds nothing, and will renew each lock so many times at most.
    pub const fn new(renewals_most: u32) -> Self {
        Self { counts: BTreeMap::new(), renews: false, renewals_most }
    }

    /// How often a thread has entered a lock.
    pub fn count(&self, thread: u64, key: &Key) -> u32 {
        self.counts.get(&(thread, key.clone())).copied().unwrap_or(0)
    }

    /// Whether renewals go on, of whatever key.
    pub fn renews(&self) -> bool {
        self.renews
    }

    pub(super) fn renewals_most(&self) -> u32 {
        self.renewals_most
    }

    /// `lock(key, value, seconds, persistentExpire)`: enters again without asking Redis, or sends
    /// `SET key value NX EX lease`. An error of Redis is logged and answers `false`.
    ///
    /// # Errors
    /// [`Pending`] until answered.
    pub fn lock(
        &self,
        thread: u64,
        key: &Key,
        value: &[u8],
        lease: Lease,
        persistent: bool,
        redis: &mut Transcript,
    ) -> Turn<Locked> {
        let count = self.count(thread, key);
        let mut locks = self.clone();
        if count == 0 {
            let set = Set::new(key, value).only(Only::IfMissing).expiry(Expiry::Ex(lease.length()));
            if logged(redis.set(&set))? != Some(true) {
                return Ok(Locked { locks, answer: false, renewal: None });
            }
        }
        locks.counts.insert((thread, key.clone()), count.saturating_add(1));
        let starts = persistent && count == 0;
        locks.renews |= starts;
        Ok(Locked { locks, answer: true, renewal: starts.then(|| Renewal::new(key.clone(), value.to_vec(), lease)) })
    }

    /// `unLock(key, value)`: leaves once, and for the last time stops *every* renewal and sends the script that compares
    /// and deletes. What that answers is not looked at, nor is an error.
    ///
    /// # Errors
    /// [`Pending`] until answered.
    pub fn unlock(&self, thread: u64, key: &Key, value: &[u8], redis: &mut Transcript) -> Turn<Unlocked> {
        let mut locks = self.clone();
        match self.count(thread, key) {
            0 => return Ok(Unlocked { locks, answer: false }),
            1 => {
                locks.counts.remove(&(thread, key.clone()));
                locks.renews = false;
                logged(scripts::jedis_unlock(redis, key, value))?;
            }
            count => {
                locks.counts.insert((thread, key.clone()), count - 1);
            }
        }
        Ok(Unlocked { locks, answer: true })
    }

    /// `isLocking(key, value)`: whether Redis holds this very value.
    ///
    /// # Errors
    /// [`Pending`] until answered, and with a fault if Redis refuses.
    pub fn is_locking(&self, key: &Key, value: &[u8], redis: &mut Transcript) -> Turn<bool> {
        Ok(redis.get(key)?.as_deref() == Some(value))
    }
}

/// `catch (Exception e) { log.error(...) }`: nothing, where Redis has refused.
pub(super) fn logged<T>(turn: Turn<T>) -> Turn<Option<T>> {
    match turn {
        Ok(answer) => Ok(Some(answer)),
        Err(Pending::Fault(_)) => Ok(None),
        Err(pending) => Err(pending),
    }
}
