//! How a lock is taken beside another one, on a connection of its own, to see whether the two agree.

use std::sync::Arc;

use lockshift_lock::{Extended, Hold, Locker, Standing};
use redis::ConnectionLike;

use super::beside::{Beside, HeldBeside, Shadow};
use super::guard::Guard;
use super::lock::Lock;
use crate::driver::events::SHADOW;
use crate::driver::host;
use crate::driver::outcome::{Answer, Attempt};
use crate::driver::shadow::{Comparison, Tallies};

impl Shadow {
    /// A shadow that speaks the protocol of `locker` over `connection`: to the same server, or to another one.
    pub fn new<C: ConnectionLike + Send + 'static>(connection: C, locker: impl Locker + 'static) -> Self {
        Self { beside: Arc::new(Lock::new(connection, locker)), tallies: Arc::default() }
    }
}

impl<C: ConnectionLike + Send + 'static> Beside for Lock<C> {
    fn take(&self, tallies: &Arc<Tallies>) -> Option<Box<dyn HeldBeside>> {
        let (comparison, held) = match self.try_acquire() {
            Ok(Attempt::Won(guard)) => (Comparison::Agreed, Some(guard)),
            Ok(Attempt::Held(_)) => (Comparison::Doubled, None),
            Ok(Attempt::TooLate) => (Comparison::Failed, None),
            Ok(Attempt::Unknown(unknown)) => {
                log::warn!(target: SHADOW, "shadow: {unknown}");
                (Comparison::Failed, None)
            }
            Err(error) => {
                log::warn!(target: SHADOW, "shadow: {error}");
                (Comparison::Failed, None)
            }
        };
        tallies.count(self.key(), comparison);
        held.map(|guard| Box::new(ShadowGuard { guard, tallies: Arc::clone(tallies) }) as Box<dyn HeldBeside>)
    }

    fn look(&self, tallies: &Tallies) {
        let nobodys = Hold { value: Vec::new(), since: host::reading(), lease: self.lease(), fence: None };
        let comparison = match self.standing_of(&nobodys) {
            Ok(Standing::Free) => Comparison::Unmatched,
            Ok(_) => Comparison::Agreed,
            Err(error) => {
                log::warn!(target: SHADOW, "shadow: {error}");
                Comparison::Failed
            }
        };
        tallies.count(self.key(), comparison);
    }
}

struct ShadowGuard<C: ConnectionLike + Send + 'static> {
    guard: Guard<C>,
    tallies: Arc<Tallies>,
}

impl<C: ConnectionLike + Send + 'static> HeldBeside for ShadowGuard<C> {
    fn extend(&self) {
        match self.guard.extend() {
            Ok(Answer::Known(Extended::Until(_) | Extended::NotSpoken)) => {}
            Ok(Answer::Known(Extended::Lost | Extended::Intruded(_))) => {
                self.tallies.count(self.guard.key(), Comparison::Doubled);
            }
            Ok(Answer::Unknown(_)) | Err(_) => self.tallies.count(self.guard.key(), Comparison::Failed),
        }
    }

    fn release(self: Box<Self>) {
        // Whatever goes wrong is logged where a guard is dropped.
        drop(self.guard);
    }

    fn abandon(self: Box<Self>) {
        self.guard.abandon();
    }
}
