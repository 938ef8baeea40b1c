//! A lock that is held, until it is released.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use lockshift_lock::{Extended, Hold, Ownership, Released};
use lockshift_wire::{Key, MonoTime};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::carrier::Carrier;
use super::loss_watch::LossWatch;
use super::renewing::Renewing;
use super::shadow_hold::Held;
use super::unattended::{Workplace, alone, to_the_end};
use crate::driver::error::Error;
use crate::driver::lease_state::{LeaseState, Loss};
use crate::driver::outcome::{Answer, log_unasked};
use crate::driver::renewal::Renewal;

/// A lock that is held. [`release`](Self::release) releases it, and says how that went.
///
/// A guard that is dropped, on whatever thread, leaves that to a task on the runtime where the lock was acquired, and
/// logs how it went. If that runtime is shut down before, the lease ends the lock.
#[must_use = "a guard that is dropped releases its lock"]
pub struct Guard<C: Carrier + 'static> {
    held: Arc<Held<C>>,
    runtime: Handle,
    renewing: Option<Renewing>,
    is_released: bool,
}

impl<C: Carrier + 'static> Guard<C> {
    pub(super) fn new(held: Held<C>, runtime: Handle) -> Self {
        Self { held: Arc::new(held), runtime, renewing: None, is_released: false }
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
    /// clock before one was confirmed. Sends nothing; what is lost stays lost.
    pub fn lost(&self) -> Option<Loss> {
        self.held.lease.read(LeaseState::lost)
    }

    /// Whether the lease has ended by then.
    pub(super) fn has_ended(&self, now: MonoTime) -> bool {
        self.held.lease.has_ended(now)
    }

    /// The means to learn elsewhere that the lock is lost: for another task, or to wait for it.
    pub fn watch(&self) -> LossWatch {
        LossWatch(self.held.lease.clone())
    }

    /// Asks the server whether the lock is still held by this guard, and for how long.
    ///
    /// # Errors
    /// The server cannot be used.
    pub async fn ownership(&self) -> Result<Ownership, Error> {
        let held = Arc::clone(&self.held);
        self.beside_renewal(Box::pin(async move { held.ownership().await })).await
    }

    /// Extends the lease by a whole one from now. A lock that is lost by the holder's own clock is not extended.
    ///
    /// # Errors
    /// The server cannot be used; the present lease goes on.
    pub async fn extend(&self) -> Result<Answer<Extended>, Error> {
        let held = Arc::clone(&self.held);
        self.beside_renewal(Box::pin(async move { held.extend().await })).await
    }

    /// Renews the lock in the background, until it is released or lost or `renewal` is at its end; in place of any renewal
    /// before. Each extension is a task of its own. Returns when no extension of the renewal before is under way any more;
    /// once this future was polled, dropping it changes nothing.
    pub async fn renew(&mut self, renewal: Renewal) {
        let before = self.stop_renewing();
        self.renewing = Some(Renewing::start(&self.runtime, Arc::clone(&self.held), renewal));
        ended(before).await;
    }

    /// Releases the lock: stops renewing, waits for an extension under way, then releases. Dropping this future does
    /// not stop it.
    ///
    /// A lost lock is released only if the protocol compares, in one step, what this very acquisition wrote: see
    /// [`LateRelease`](crate::lock::LateRelease). Otherwise nothing is sent, and the outcome is [`Released::Lost`].
    ///
    /// # Errors
    /// The server cannot be used, or has refused. If the lock is still there, its lease will end it.
    pub async fn release(mut self) -> Result<Answer<Released>, Error> {
        let release = self.release_held();
        let place = self.held.session.connection.workplace.now(&self.runtime);
        to_the_end(place, self.key(), release).await
    }

    /// Ends the hold as a crash would: no release is sent, and the lease has to end the lock.
    pub async fn abandon(mut self) {
        self.is_released = true;
        ended(self.stop_renewing()).await;
        self.held.abandon();
    }

    /// Stops renewing; what is returned ends with the extension under way, if there is one.
    fn stop_renewing(&mut self) -> Option<oneshot::Receiver<()>> {
        self.renewing.take().and_then(Renewing::stop)
    }

    /// Does `work` in a task of its own: a caller that does not poll must not keep the renewal from the connection.
    async fn beside_renewal<T: Send + 'static>(
        &self,
        work: Pin<Box<impl Future<Output = Result<T, Error>> + Send + 'static>>,
    ) -> Result<T, Error> {
        to_the_end(Workplace::OwnTask.now(&self.runtime), self.key(), work).await
    }

    fn release_held(&mut self) -> Pin<Box<impl Future<Output = Result<Answer<Released>, Error>> + Send + use<C>>> {
        self.is_released = true;
        let (held, extension) = (Arc::clone(&self.held), self.stop_renewing());
        Box::pin(async move {
            ended(extension).await;
            held.release().await
        })
    }
}

/// Returns when this extension has ended.
async fn ended(extension: Option<oneshot::Receiver<()>>) {
    if let Some(extension) = extension {
        // Nothing is ever sent.
        let _ = extension.await;
    }
}

impl<C: Carrier + 'static> Drop for Guard<C> {
    fn drop(&mut self) {
        if !self.is_released {
            let (locker, release) = (Arc::clone(&self.held.session.locker), self.release_held());
            alone(&self.runtime, Arc::clone(&locker), async move { log_unasked(&*locker, &release.await) });
        }
    }
}

impl<C: Carrier + 'static> fmt::Debug for Guard<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("key", self.key()).field("remaining", &self.remaining()).finish_non_exhaustive()
    }
}
