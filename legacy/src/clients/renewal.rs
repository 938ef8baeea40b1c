//! The background renewal of the Jedis article: at once, and then once a whole lease, when it is too late.
//!
//! Source: Jedis article, `openPersistentExpire`: `while (i < persistentExpireTimes && persistentExpireFlag)`, around an
//! EVAL, `i++` and `Thread.sleep(seconds * 1000)`.

use alloc::vec::Vec;
use core::time::Duration;

use lockshift_lock::Lease;
use lockshift_wire::{Key, Reply, Transcript, Turn};

use super::JedisLocks;
use super::token_object::whole_secs;
use crate::scripts;

/// The renewal of one lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Renewal {
    key: Key,
    value: Vec<u8>,
    lease: Lease,
    done: u32,
}

/// What one turn of a renewal has come to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Renewed {
    /// It has sent its script, whatever the answer was; it sleeps, and goes on as `next`.
    ThenSleeps {
        /// For how long: the whole lease.
        pause: Duration,
        /// How it goes on.
        next: Renewal,
    },
    /// Redis has refused; it goes on at once, and does not count this time.
    AgainAtOnce,
    /// It has been told to stop, or has done it often enough.
    Ended,
}

impl Renewal {
    pub(super) fn new(key: Key, value: Vec<u8>, lease: Lease) -> Self {
        Self { key, value, lease, done: 0 }
    }

    /// The lock that it renews.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// One turn, under the client's one flag as it stands now.
    ///
    /// # Errors
    /// [`Pending`](lockshift_wire::Pending) until answered.
    pub fn turn(&self, locks: &JedisLocks, redis: &mut Transcript) -> Turn<Renewed> {
        if self.done >= locks.renewals_most() || !locks.renews() {
            return Ok(Renewed::Ended);
        }
        match scripts::jedis_renew(redis, &self.key, &self.value, whole_secs(self.lease))? {
            Reply::Error(_) => Ok(Renewed::AgainAtOnce),
            _answer => Ok(Renewed::ThenSleeps {
                pause: Duration::from_secs(whole_secs(self.lease).unsigned_abs()),
                next: Self { done: self.done + 1, ..self.clone() },
            }),
        }
    }
}
