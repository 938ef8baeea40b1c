//! The token class of the Java article: one object, one lock, one value for all its life.
//!
//! Source: Java article, addition of 2017-10-24, class `RedisLock` ("not reentrant", "not thread-safe").

use alloc::format;
use alloc::vec::Vec;

use lockshift_lock::{Lease, Owner};
use lockshift_wire::{Key, Transcript, Turn, UnixTime};
use thiserror::Error;

use crate::{Unit, scripts};

/// An object that knows whether it has locked its key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenObject {
    key: Key,
    value: Vec<u8>,
    locked: bool,
}

/// `IllegalStateException("already locked!")`: this object holds its lock.
///
/// The article's public `tryLock` catches it together with all other exceptions, logs it and answers `false`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[error("already locked!")]
pub struct AlreadyLocked;

/// `IllegalStateException("not locked yet!")`: this object holds no lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[error("not locked yet!")]
pub struct NotLockedYet;

impl TokenObject {
    /// The object, with `uuid.millis` made of its owner and of the moment of its making.
    pub fn new(key: Key, owner: &Owner, made: UnixTime) -> Self {
        let value = format!("{}.{}", owner.token.uuid(), made.as_millis()).into_bytes();
        Self { key, value, locked: false }
    }

    /// What it writes into the key.
    pub fn value(&self) -> &[u8] {
        &self.value
    }

    /// Whether it has locked, by its own account.
    pub fn is_locked(&self) -> bool {
        self.locked
    }

    /// `doTryLock`: the script of SETNX and EXPIRE, the lease in whole seconds, rounded up. The object that follows has
    /// locked, or not.
    ///
    /// # Errors
    /// [`Pending`](lockshift_wire::Pending) until answered. The original answers `false` to an error of Redis, too.
    pub fn try_lock(&self, lease: Lease, redis: &mut Transcript) -> Turn<Result<Self, AlreadyLocked>> {
        if self.locked {
            return Ok(Err(AlreadyLocked));
        }
        let locked = scripts::setnx_expire(redis, &self.key, &self.value, whole_secs(lease))?;
        Ok(Ok(Self { locked, ..self.clone() }))
    }

    /// `unlock`: the script that compares and deletes. Whether it has deleted, the object does not ask: it is unlocked
    /// in any case.
    ///
    /// # Errors
    /// [`Pending`](lockshift_wire::Pending) until answered.
    pub fn unlock(&self, redis: &mut Transcript) -> Turn<Result<Self, NotLockedYet>> {
        if !self.locked {
            return Ok(Err(NotLockedYet));
        }
        let _ignored = scripts::del_if_get_equals(redis, &self.key, &self.value)?;
        Ok(Ok(Self { locked: false, ..self.clone() }))
    }
}

/// The lease as these classes pass it: seconds, rounded up.
pub(super) fn whole_secs(lease: Lease) -> i64 {
    let secs = lease.rounded_up_to(Unit::Second.length()).length().as_secs();
    i64::try_from(secs).expect("a lease of at most a hundred years has fewer than 2^32 seconds")
}
