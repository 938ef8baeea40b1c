//! A lock that is held, until it is given back.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lockshift_lock::{Extended, Hold, Ownership, Released};
use lockshift_wire::Key;

use super::carrier::Carrier;
use super::held_lock::HeldLock;
use super::loss_watch::LossWatch;
use super::renewing::Renewing;
use super::session::Session;
use super::shadow_hold::ShadowHold;
use crate::driver::error::Error;
use crate::driver::lease_state::Loss;
use crate::driver::outcome::{Answer, log_unasked};
use crate::driver::renewal::Renewal;

/// A lock that is held. Give it back with [`release`](Self::release), which says how that went; a guard that is dropped
/// gives its lock back too, and logs how that went.
#[must_use = "a guard that is dropped gives its lock back"]
pub struct Guard<C: Carrier + 'static> {
    tenancy: Arc<HeldLock<C>>,
    renewing: Option<Renewing>,
    given_back: bool,
}

impl<C: Carrier + 'static> Guard<C> {
    pub(super) fn new(session: Session<C>, hold: Hold, beside: Option<ShadowHold>) -> Self {
        Self { tenancy: Arc::new(HeldLock::new(session, hold, beside)), renewing: None, given_back: false }
    }

    /// The key that contenders share.
    pub fn key(&self) -> &Key {
        self.tenancy.key()
    }

    /// What is held, as of the last confirmed extension.
    pub fn hold(&self) -> Hold {
        self.tenancy.watch().hold()
    }

    /// For how long one may still work, by our own clock: zero once the lock is lost. Asks nobody.
    pub fn left(&self) -> Duration {
        self.tenancy.watch().left()
    }

    /// How the lock was lost, if it was: the server said so to an extension, or the lease ran out on our own clock
    /// before one was confirmed. Asks nobody, never blocks; what is lost stays lost.
    pub fn lost(&self) -> Option<Loss> {
        self.tenancy.watch().lost()
    }

    /// The means to learn elsewhere that the lock is lost: for another thread, or to wait for it.
    pub fn watch(&self) -> LossWatch {
        self.tenancy.watch().clone()
    }

    /// Asks the server whose the lock is, and for how long.
    ///
    /// # Errors
    /// The server cannot be used.
    pub fn ownership(&self) -> Result<Ownership, Error> {
        self.tenancy.ownership()
    }

    /// Holds on for another lease from now. A lock that is lost by our own clock is not asked for again.
    ///
    /// # Errors
    /// The server cannot be used; the present lease goes on.
    pub fn extend(&self) -> Result<Answer<Extended>, Error> {
        self.tenancy.extend()
    }

    /// Gives the lock back: stops renewing, waits for an extension under way, then releases.
    ///
    /// A lost lock is released only if the protocol compares, in one step, what this very acquisition wrote: see
    /// [`LateRelease`](crate::lock::LateRelease). Otherwise nothing is sent, and the outcome is [`Released::Lost`].
    ///
    /// # Errors
    /// The server cannot be used; the lease will end the lock.
    pub fn release(mut self) -> Result<Answer<Released>, Error> {
        self.give_back()
    }

    /// Lets go without telling the server, as a crash would: no release is sent, the lease has to end the lock.
    pub fn abandon(mut self) {
        self.given_back = true;
        if let Some(renewing) = self.renewing.take() {
            renewing.stop();
        }
        self.tenancy.abandon();
    }

    fn give_back(&mut self) -> Result<Answer<Released>, Error> {
        self.given_back = true;
        if let Some(renewing) = self.renewing.take() {
            renewing.stop();
        }
        self.tenancy.give_back()
    }
}

impl<C: Carrier + Send + 'static> Guard<C> {
    /// Renews the lock in the background, from a thread of its own, until it is given back or lost or `renewal` is at
    /// its end; in place of any renewal before.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn renew(&mut self, renewal: Renewal) -> Result<(), Error> {
        if let Some(renewing) = self.renewing.take() {
            renewing.stop();
        }
        let renewing = Renewing::start(Arc::clone(&self.tenancy), renewal);
        self.renewing = Some(renewing.map_err(|error| Error::no_thread(self.key(), error))?);
        Ok(())
    }
}

impl<C: Carrier + 'static> Drop for Guard<C> {
    fn drop(&mut self) {
        if !self.given_back {
            let ended = self.give_back();
            log_unasked(self.key(), &ended);
        }
    }
}

impl<C: Carrier + 'static> fmt::Debug for Guard<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("key", self.key()).field("left", &self.left()).finish_non_exhaustive()
    }
}
