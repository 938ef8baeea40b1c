//! The fair lock: who comes first is served first.
//!
//! Whoever tries in vain stands in a queue, and each in it has a channel of its own. Until when each is waited for is
//! reckoned from the clients' clocks: one that is ahead puts others out, who are not told. Where there is no lock any more,
//! a release is answered as if there had been: it says *freed*, and wakes whose turn it is.

use alloc::string::{String, ToString};
use core::time::Duration;

use lockshift_lock::{
    Acquired, Extended, Hold, LateRelease, Lease, Locker, Owner, Ownership, ReleaseChannel, Released,
};
use lockshift_wire::{Key, Script, Transcript, Turn};

use super::answers;
use super::giving_back::GivingBack;
use super::mark::{self, Mark};
use super::mutex::{ENTERED_TWICE, ONE_MAY_TRY};
use super::names::{of_waiter, prefixed};
use crate::Publish;
use crate::field;

const ACQUIRE: Script = Script::new(include_str!("../lua/redisson/fair/acquire.lua"));
const GIVE_UP: Script = Script::new(include_str!("../lua/redisson/fair/give_up.lua"));
const UNLOCK: Script = Script::new(include_str!("../lua/redisson/fair/unlock.lua"));
const RENEW: Script = Script::new(include_str!("../lua/redisson/renew.lua"));

/// For how long somebody in the queue is waited for whose turn it is: Redisson's `fairLockWaitTimeout`.
const PATIENCE: Duration = Duration::from_secs(300);

/// A lock that is given in the order of the first tries.
///
/// A try in vain leaves a place in the queue: whoever stops trying has to [`withdraw`](Locker::withdraw), or the others
/// wait for it until its time is over.
#[derive(Clone, Debug)]
pub struct Fair {
    name: Key,
    lease: Lease,
    patience: Duration,
    reentrant: bool,
    publish: Publish,
}

impl Fair {
    /// The fair lock of this name, for `lease` at a time, which its owner may enter again, announced by PUBLISH; whoever is
    /// in the queue is waited for 5 minutes.
    pub fn new(name: Key, lease: Lease) -> Self {
        let lease = lease.rounded_up_to(Duration::from_millis(1));
        Self { name, lease, patience: PATIENCE, reentrant: true, publish: Publish::default() }
    }

    /// Not to be entered twice, which is an error of the server, `NON_REENTRANT_REACQUIRE`.
    #[must_use]
    pub fn non_reentrant(self) -> Self {
        Self { reentrant: false, ..self }
    }

    /// For how long the others shall wait for one of ours whose turn it is, in whole milliseconds: with Redisson, the time
    /// for which one is ready to wait, or `fairLockWaitTimeout`.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Announced by this command.
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
        let held = answers::enter(&ACQUIRE, &[&self.name, &self.queue(), &self.times()], args, redis)?;
        Ok(match held {
            None => Acquired::Won(Hold { value: mark::value(&field, owner), since, lease: self.lease, fence: None }),
            Some(held) => Acquired::Held(held),
        })
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let mark = Mark::of(hold);
        let now_ms = redis.now()?.as_millis().to_string();
        let lease_ms = self.lease_ms();
        let keys = [&self.name, &self.queue(), &self.times(), &self.channel()];
        let args = [ONE_MAY_TRY, lease_ms.as_bytes(), mark.field, now_ms.as_bytes()];
        GivingBack::of(&self.name, Some(self.publish)).by(&UNLOCK, keys, args, mark, redis)
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::MayFreeAnother
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        let lease_ms = self.lease_ms();
        answers::renew(&RENEW, &[&self.name], &[lease_ms.as_bytes(), Mark::of(hold).field], hold, redis)
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        field::ownership(&self.name, Mark::of(hold).field, redis)
    }

    /// Takes back the place in the queue, which hurts nobody; whether the owner has entered, nobody can tell.
    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        self.withdraw(owner, redis)
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
