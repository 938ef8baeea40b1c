//! A lock that is held, until it is released.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use lockshift_lock::{Extended, Hold, Ownership, Released};
use lockshift_wire::{Key, MonoTime};

use super::carrier::Carrier;
use super::home_process::HomeProcess;
use super::loss_watch::LossWatch;
use super::renewing::Renewing;
use super::shadow_hold::Held;
use crate::driver::error::Error;
use crate::driver::lease_state::{LeaseState, Loss};
use crate::driver::link::at_once;
use crate::driver::outcome::{Answer, log_unasked};
use crate::driver::renewal::Renewal;

/// A lock that is held. [`release`](Self::release) releases it and says how that went; a guard that is dropped releases
/// its lock too, and logs how that went. The copy that a forked child has is not for use: dropping it does nothing.
#[must_use = "a guard that is dropped releases its lock"]
pub struct Guard<C: Carrier + 'static> {
    held: Arc<Held<C>>,
    renewing: Option<Renewing>,
    is_released: bool,
    home: HomeProcess,
}

impl<C: Carrier + 'static> Guard<C> {
    pub(super) fn new(held: Held<C>) -> Self {
        let home = HomeProcess::of(held.owner());
        Self { held: Arc::new(held), renewing: None, is_released: false, home }
    }

    /// The key that contenders share.
    pub fn key(&self) -> &Key {
        self.held.key()
    }

    /// What is held, as of the last confirmed extension.
    pub fn hold(&self) -> Hold {
        self.held.lease.read(|state, _| state.hold().clone())
    }

    /// For how long the holder may still work, by its own clock: zero once the lock is lost, [`Duration::MAX`] if it never
    /// expires. Sends nothing.
    pub fn remaining(&self) -> Duration {
        self.held.lease.read(LeaseState::remaining)
    }

    /// How the lock was lost, if it was: the server refused an extension, or the lease expired on the holder's own
    /// clock before one was confirmed. Sends nothing, never blocks; what is lost stays lost.
    pub fn lost(&self) -> Option<Loss> {
        self.held.lease.read(LeaseState::lost)
    }

    /// Whether the lease has ended by then.
    pub(super) fn has_ended(&self, now: MonoTime) -> bool {
        self.held.lease.has_ended(now)
    }

    /// The means to learn elsewhere that the lock is lost: for another thread, or to wait for it.
    pub fn watch(&self) -> LossWatch {
        LossWatch(self.held.lease.clone())
    }

    /// Asks the server whether the lock is still held by this guard, and for how long.
    ///
    /// # Errors
    /// The server cannot be used.
    pub fn ownership(&self) -> Result<Ownership, Error> {
        at_once(self.held.ownership())
    }

    /// Extends the lease by a whole one from now. A lock that is lost by the holder's own clock is not extended.
    ///
    /// # Errors
    /// The server cannot be used; the present lease goes on.
    pub fn extend(&self) -> Result<Answer<Extended>, Error> {
        at_once(self.held.extend())
    }

    /// Releases the lock: stops renewing, waits for an extension under way, then releases. If that extension goes on for
    /// longer than five seconds after the lease has ended, nothing is sent.
    ///
    /// A lost lock is released only if the protocol compares, in one step, what this very acquisition wrote: see
    /// [`LateRelease`](crate::lock::LateRelease). Otherwise nothing is sent, and the outcome is [`Released::Lost`].
    ///
    /// # Errors
    /// The server cannot be used, or has refused. If the lock is still there, its lease will end it.
    pub fn release(mut self) -> Result<Answer<Released>, Error> {
        self.release_held()
    }

    /// Releases the lock as [`release`](Self::release) does. It may be repeated: what is done once is done once.
    ///
    /// # Errors
    /// As there.
    #[cfg(feature = "cli")]
    pub(crate) fn try_release(&mut self) -> Result<Answer<Released>, Error> {
        self.release_held()
    }

    /// Ends the hold as a crash would: no release is sent, and the lease has to end the lock.
    pub fn abandon(mut self) {
        self.is_released = true;
        self.stop_renewing();
        self.held.abandon();
    }

    fn release_held(&mut self) -> Result<Answer<Released>, Error> {
        self.is_released = true;
        if !self.stop_renewing() {
            // The connection is in use, and nothing is left to be released but what the late extension may have prolonged.
            self.held.abandon();
            return Err(Error::connection(self.key(), io::Error::from(io::ErrorKind::TimedOut).into()));
        }
        at_once(self.held.release())
    }

    /// Whether no extension is under way any more.
    fn stop_renewing(&mut self) -> bool {
        self.renewing.take().is_none_or(|renewing| renewing.stop(&self.held.lease))
    }
}

impl<C: Carrier + Send + 'static> Guard<C> {
    /// Renews the lock in the background, from a thread of its own, until it is released or lost or `renewal` is at
    /// its end; in place of any renewal before.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn renew(&mut self, renewal: Renewal) -> Result<(), Error> {
        self.stop_renewing();
        let renewing = Renewing::start(Arc::clone(&self.held), renewal);
        self.renewing = Some(renewing.map_err(|error| Error::no_thread(self.key(), error))?);
        Ok(())
    }
}

impl<C: Carrier + 'static> Drop for Guard<C> {
    fn drop(&mut self) {
        if self.is_released {
            return;
        }
        if self.home.is_another() {
            // The lock is the parent's, whose renewing thread is not here: to join it panics.
            std::mem::forget(self.renewing.take());
        } else {
            let ended = self.release_held();
            log_unasked(&*self.held.session.locker, &ended);
        }
    }
}

impl<C: Carrier + 'static> fmt::Debug for Guard<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("key", self.key()).field("remaining", &self.remaining()).finish_non_exhaustive()
    }
}
