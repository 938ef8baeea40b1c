//! A lock that is held, until it is given back.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lockshift_lock::{Extended, Hold, Ownership, Released};
use lockshift_wire::Key;
use tokio::runtime::Handle;

use super::carrier::Carrier;
use super::held_lock::HeldLock;
use super::loss_watch::LossWatch;
use super::renewing::Renewing;
use super::session::Session;
use super::shadow_hold::ShadowHold;
use super::unattended::{alone, to_the_end};
use crate::driver::error::Error;
use crate::driver::lease_state::Loss;
use crate::driver::outcome::{Answer, log_unasked};
use crate::driver::renewal::Renewal;

/// A lock that is held. Give it back with [`release`](Self::release), which says how that went.
///
/// A guard that is dropped, on whatever thread, leaves that to a task on the runtime where the lock was acquired, and
/// logs how it went. If that runtime is shut down before, the lease ends the lock.
#[must_use = "a guard that is dropped gives its lock back"]
pub struct Guard<C: Carrier + 'static> {
    tenancy: Arc<HeldLock<C>>,
    runtime: Handle,
    renewing: Option<Renewing>,
    given_back: bool,
}

impl<C: Carrier + 'static> Guard<C> {
    pub(super) fn new(session: Session<C>, hold: Hold, beside: Option<ShadowHold>, runtime: Handle) -> Self {
        Self { tenancy: Arc::new(HeldLock::new(session, hold, beside)), runtime, renewing: None, given_back: false }
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
    /// before one was confirmed. Asks nobody; what is lost stays lost.
    pub fn lost(&self) -> Option<Loss> {
        self.tenancy.watch().lost()
    }

    /// The means to learn elsewhere that the lock is lost: for another task, or to wait for it.
    pub fn watch(&self) -> LossWatch {
        self.tenancy.watch().clone()
    }

    /// Asks the server whose the lock is, and for how long.
    ///
    /// # Errors
    /// The server cannot be used.
    pub async fn ownership(&self) -> Result<Ownership, Error> {
        let tenancy = Arc::clone(&self.tenancy);
        to_the_end(&self.runtime, self.key(), async move { tenancy.ownership().await }).await
    }

    /// Holds on for another lease from now. A lock that is lost by our own clock is not asked for again.
    ///
    /// # Errors
    /// The server cannot be used; the present lease goes on.
    pub async fn extend(&self) -> Result<Answer<Extended>, Error> {
        let tenancy = Arc::clone(&self.tenancy);
        to_the_end(&self.runtime, self.key(), async move { tenancy.extend().await }).await
    }

    /// Renews the lock in the background, from a task of its own, until it is given back or lost or `renewal` is at its
    /// end; in place of any renewal before. Returns when no extension of the one before is under way any more; once this
    /// future was polled, dropping it changes nothing.
    pub async fn renew(&mut self, renewal: Renewal) {
        let tenancy = Arc::clone(&self.tenancy);
        let (renewing, begins) = Renewing::start(&self.runtime, tenancy, renewal, self.renewing.take());
        self.renewing = Some(renewing);
        // It fails if the runtime is shut down.
        let _ = begins.await;
    }

    /// Gives the lock back: stops renewing, waits for an extension under way, then releases. Dropping this future does
    /// not stop it.
    ///
    /// A lost lock is released only if the protocol compares, in one step, what this very acquisition wrote: see
    /// [`LateRelease`](crate::lock::LateRelease). Otherwise nothing is sent, and the outcome is [`Released::Lost`].
    ///
    /// # Errors
    /// The server cannot be used; the lease will end the lock.
    pub async fn release(mut self) -> Result<Answer<Released>, Error> {
        let release = self.give_back();
        to_the_end(&self.runtime, self.key(), release).await
    }

    /// Lets go without telling the server, as a crash would: no release is sent, the lease has to end the lock.
    pub async fn abandon(mut self) {
        self.given_back = true;
        if let Some(renewing) = self.renewing.take() {
            renewing.stop().await;
        }
        self.tenancy.abandon();
    }

    fn give_back(&mut self) -> impl Future<Output = Result<Answer<Released>, Error>> + Send + use<C> {
        self.given_back = true;
        let (tenancy, renewing) = (Arc::clone(&self.tenancy), self.renewing.take());
        async move {
            if let Some(renewing) = renewing {
                renewing.stop().await;
            }
            tenancy.give_back().await
        }
    }
}

impl<C: Carrier + 'static> Drop for Guard<C> {
    fn drop(&mut self) {
        if !self.given_back {
            let (key, release) = (self.key().clone(), self.give_back());
            alone(&self.runtime, key.clone(), async move { log_unasked(&key, &release.await) });
        }
    }
}

impl<C: Carrier + 'static> fmt::Debug for Guard<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("key", self.key()).field("left", &self.left()).finish_non_exhaustive()
    }
}
