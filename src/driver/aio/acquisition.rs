//! One acquisition under way, on its connection.

use std::sync::Arc;

use lockshift_lock::{Acquired, Locker, Owner};
use tokio::runtime::Handle;

use super::carrier::Carrier;
use super::guard::Guard;
use super::session::Session;
use super::shadow_hold::Shadow;
use super::unattended::{alone, to_the_end};
use crate::driver::acquisition::Acquisition;
use crate::driver::entries::Entry;
use crate::driver::error::Error;
use crate::driver::events::ACQUIRE;
use crate::driver::host;
use crate::driver::interrupted::log_undone;
use crate::driver::outcome::{Attempt, log_unasked};

/// One acquisition under way. Dropped without a lock, it takes back whatever its attempts have left on the server.
///
/// An attempt takes it along, also into the task that carries a dropped attempt to its end, and hands it back: so nothing is
/// taken back before the attempt that may have left it has ended, whether its caller still waits or not.
pub(super) struct Acquiring<C: Carrier + 'static> {
    session: Session<C>,
    shadow: Option<Shadow>,
    runtime: Handle,
    pub(super) acquisition: Acquisition,
}

impl<C: Carrier + 'static> Acquiring<C> {
    pub(super) fn begin(session: Session<C>, shadow: Option<&Shadow>) -> Result<Self, Error> {
        let runtime = Handle::try_current().map_err(|error| Error::no_runtime(session.locker.key(), error))?;
        let acquisition = Acquisition::begin(&session.locker, &session.counters, host::task_number())?;
        Ok(Self { session, shadow: shadow.cloned(), runtime, acquisition })
    }

    /// Tries once. If this future is dropped the attempt goes on to its end, and what it wins or leaves is released.
    ///
    /// # Errors
    /// The runtime is shutting down. That the server cannot be used is the attempt's own result.
    pub(super) async fn attempt(mut self) -> Result<(Self, Result<Attempt<Guard<C>>, Error>), Error> {
        let (runtime, locker) = (self.runtime.clone(), Arc::clone(&self.session.locker));
        let workplace = self.session.workplace;
        let attempt = async {
            let attempt = self.carry_out().await;
            Ok((self, attempt))
        };
        to_the_end(workplace, &runtime, locker.key(), attempt).await
    }

    async fn carry_out(&mut self) -> Result<Attempt<Guard<C>>, Error> {
        let mut connection = self.session.for_attempt().await;
        let owner = self.acquisition.owner();
        self.session.disclaim_earlier(&mut connection, &owner).await?;
        let entry = Entry::begin(&*self.session.locker, &owner);
        match self.session.ask(&mut connection, |locker, redis| locker.acquire(&owner, redis)).await {
            Ok(Acquired::Won(hold)) => {
                let replicated = self.session.replicate(&mut connection).await;
                drop(connection);
                let shadow = self.shadow.as_ref().and_then(|shadow| shadow.take(&self.runtime));
                let guard = Guard::new(self.session.clone(), hold, shadow, entry, self.runtime.clone());
                if replicated.is_ok() && guard.lost().is_none() {
                    return Ok(self.acquisition.won(guard));
                }
                let key = guard.key().clone();
                log_unasked(&key, &guard.release().await);
                self.acquisition.not_kept(replicated)
            }
            Ok(Acquired::Held(held)) => {
                self.shadow.iter().for_each(|shadow| shadow.look(&self.runtime));
                self.acquisition.refused(held)
            }
            Err(interrupted) => {
                drop(entry);
                if interrupted.may_have_acted {
                    // Without a reply it is due before the next attempt.
                    let _ = self.session.disclaim(&mut connection, &owner).await;
                }
                self.acquisition.interrupted(interrupted)
            }
        }
    }

    /// Gives up, and returns when nothing is left on the server.
    pub(super) async fn give_up(mut self) {
        if self.acquisition.give_up() {
            let withdrawal = withdraw(self.session.clone(), self.acquisition.owner());
            let withdrawing = async {
                withdrawal.await;
                Ok(())
            };
            let (workplace, key) = (self.session.workplace, self.session.locker.key());
            let withdrawn = to_the_end(workplace, &self.runtime, key, withdrawing).await;
            withdrawn.unwrap_or_else(|error| log::warn!(target: ACQUIRE, "could not leave the queue: {error}"));
        }
    }
}

impl<C: Carrier + 'static> Drop for Acquiring<C> {
    fn drop(&mut self) {
        if self.acquisition.give_up() {
            let key = self.session.locker.key().clone();
            alone(&self.runtime, key, withdraw(self.session.clone(), self.acquisition.owner()));
        }
    }
}

async fn withdraw<C: Carrier + 'static>(session: Session<C>, owner: Owner) {
    let mut connection = session.for_holder().await;
    let withdrawn = session.ask(&mut connection, |locker: &dyn Locker, redis| locker.withdraw(&owner, redis)).await;
    log_undone(session.locker.key(), "leave the queue", &withdrawn);
}
