//! The fair lock: first come, first served.
//!
//! A client whose attempt fails joins a queue, and each waiter in it has its own channel. The time at which a waiter's place
//! expires is computed from the clients' clocks: a client whose clock is ahead removes other waiters, which are not
//! notified. A release of a lock that has already expired returns *freed* all the same, and wakes the next waiter.

use alloc::string::{String, ToString};
use core::time::Duration;

use lockshift_lock::{
    Acquired, Extended, Hold, LateRelease, Lease, Locker, Owner, Ownership, ReleaseChannel, Released,
};
use lockshift_wire::{Key, Script, Transcript, Turn, script_file};

use super::hold_value::{self, HoldValue};
use super::latched_release::LatchedRelease;
use super::mutex::{ENTERED_TWICE, ONE_MAY_TRY};
use super::names::{of_waiter, prefixed};
use super::replies;
use crate::Publish;
use crate::field;

const ACQUIRE: Script = script_file!("../lua/redisson/fair/acquire.lua");
const GIVE_UP: Script = script_file!("../lua/redisson/fair/give_up.lua");
const UNLOCK: Script = script_file!("../lua/redisson/fair/unlock.lua");
const RENEW: Script = script_file!("../lua/redisson/renew.lua");

/// How long a waiter whose turn it is may take to acquire: Redisson's `fairLockWaitTimeout`.
const PATIENCE: Duration = Duration::from_secs(300);

/// A lock that is granted in the order of the first attempts.
///
/// A failed attempt adds a place to the queue. A client that stops trying must [`withdraw`](Locker::withdraw); otherwise
/// the other waiters wait until its place expires.
///
/// A release is published to the first waiter alone. One that stops trying after that, and before its next attempt, publishes
/// nothing to the next, as Redisson's own clients do not: the next one tries when the lease would have ended that it has last
/// seen. [`FairLock`](crate::FairLock) passes its turn on.
#[derive(Clone, Debug)]
pub struct Fair {
    name: Key,
    lease: Lease,
    patience: Duration,
    reentrant: bool,
    publish: Publish,
}

impl Fair {
    /// The fair lock of this name with this lease: re-entrant, with releases sent by PUBLISH. A place in the queue is kept
    /// for 5 minutes.
    pub fn new(name: Key, lease: Lease) -> Self {
        let lease = lease.rounded_up_to(Duration::from_millis(1));
        Self { name, lease, patience: PATIENCE, reentrant: true, publish: Publish::default() }
    }

    /// Makes the lock non-re-entrant: a second entry is a server error, `NON_REENTRANT_REACQUIRE`.
    #[must_use]
    pub fn non_reentrant(self) -> Self {
        Self { reentrant: false, ..self }
    }

    /// How long the other waiters wait for a waiter of ours whose turn it is, in whole milliseconds. Redisson uses the
    /// caller's wait time, or `fairLockWaitTimeout`.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Publishes releases with this command.
    #[must_use]
    pub fn publish(self, publish: Publish) -> Self {
        Self { publish, ..self }
    }

    fn queue(&self) -> Key {
        prefixed("redisson_lock_queue", &self.name)
    }

    fn times(&self) -> Key {
        prefixed("redisson_lock_timeout", &self.name)
    }

    fn channel(&self) -> Key {
        prefixed("redisson_lock__channel", &self.name)
    }

    fn lease_ms(&self) -> String {
        self.lease.length().as_millis().to_string()
    }

    fn patience_ms(&self) -> String {
        self.patience.as_millis().to_string()
    }
}

impl Locker for Fair {
    fn key(&self) -> &Key {
        &self.name
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let field = owner.thread_name();
        let since = redis.clock()?;
        let [lease_ms, patience_ms] = [self.lease_ms(), self.patience_ms()];
        let now_ms = since.wall.as_millis().to_string();
        let args = [lease_ms.as_bytes(), field.as_bytes(), patience_ms.as_bytes(), now_ms.as_bytes(), ENTERED_TWICE];
        let args = if self.reentrant { &args[..4] } else { &args[..] };
        let held = replies::enter(&ACQUIRE, &[&self.name, &self.queue(), &self.times()], args, redis)?;
        Ok(match held {
            None => {
                Acquired::Won(Hold { value: hold_value::encode(&field, owner), since, lease: self.lease, fence: None })
            }
            Some(held) => Acquired::Held(held),
        })
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let value = HoldValue::of(hold);
        let now_ms = redis.now()?.as_millis().to_string();
        let lease_ms = self.lease_ms();
        let keys = [&self.name, &self.queue(), &self.times(), &self.channel()];
        let args = [ONE_MAY_TRY, lease_ms.as_bytes(), value.field, now_ms.as_bytes()];
        LatchedRelease::of(&self.name, Some(self.publish)).run(&UNLOCK, keys, args, value, redis)
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::MayFreeAnother
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        let lease_ms = self.lease_ms();
        replies::renew(&RENEW, &[&self.name], &[lease_ms.as_bytes(), HoldValue::of(hold).field], hold, redis)
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        field::ownership(&self.name, HoldValue::of(hold).field, redis)
    }

    fn reentrant_name(&self, owner: &Owner) -> Option<String> {
        Some(owner.thread_name())
    }

    /// Removes the place in the queue, and leaves once if the server counts an entry that is not one of the thread's holds.
    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        self.withdraw(owner, redis)?;
        let field = owner.thread_name();
        if !field::has_surplus_entry(&self.name, field.as_bytes(), owner, redis)? {
            return Ok(());
        }
        let since = redis.clock()?;
        let hold = Hold { value: hold_value::encode(&field, owner), since, lease: self.lease, fence: None };
        self.release(&hold, redis).map(drop)
    }

    fn release_channel(&self, owner: &Owner) -> Option<ReleaseChannel> {
        Some(self.publish.release_channel(&of_waiter(&self.channel(), &owner.thread_name())))
    }

    fn withdraw(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        let (field, patience_ms) = (owner.thread_name(), self.patience_ms());
        let args = [field.as_bytes(), patience_ms.as_bytes()];
        redis.script(&GIVE_UP, &[&self.queue(), &self.times()], &args).map(drop)
    }
}
