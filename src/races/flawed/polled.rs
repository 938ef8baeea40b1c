//! A caller that polls as the Java article does.

use std::time::Duration;

use crate::legacy::{Lock, Polling, PollingStep};
use crate::lock::{Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Owner, Ownership, Refusal, Released};
use crate::wire::{Key, Transcript, Turn};

/// A lock inside the article's polling: one try here is all that the polling comes to. Its sleeps are left out.
#[derive(Clone, Debug)]
pub(in super::super) struct Polled {
    lock: Lock,
    tries: i32,
}

impl Polled {
    /// This lock, polled by a caller that asks for so many attempts.
    pub(in super::super) fn new(lock: Lock, tries: i32) -> Self {
        Self { lock, tries }
    }
}

impl Locker for Polled {
    fn key(&self) -> &Key {
        self.lock.key()
    }

    fn lease(&self) -> Lease {
        self.lock.lease()
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let mut last = Acquired::Held(Held::because(Refusal::Live));
        for step in Polling::new(Duration::ZERO, self.tries) {
            if step == PollingStep::Attempt {
                last = self.lock.acquire(owner, redis)?;
            }
            if let Acquired::Won(_) = last {
                break;
            }
        }
        Ok(last)
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        self.lock.release(hold, redis)
    }

    fn late_release(&self) -> LateRelease {
        self.lock.late_release()
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        self.lock.extend(hold, redis)
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        self.lock.ownership(hold, redis)
    }
}
