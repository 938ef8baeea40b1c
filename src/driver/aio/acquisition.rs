//! One acquisition under way, on its connection.

use std::sync::Arc;

use lockshift_lock::Hold;
use lockshift_wire::MonoTime;
use tokio::runtime::Handle;

use super::carrier::Carrier;
use super::guard::Guard;
use super::shadow_hold::Shadow;
use super::shared_connection::SharedConnection;
use super::unattended::{alone, to_the_end};
use crate::driver::acquisition::Acquisition;
use crate::driver::entries::ReentrantEntry;
use crate::driver::error::Error;
use crate::driver::events::ACQUIRE;
use crate::driver::held_lock::HeldLock;
use crate::driver::host;
use crate::driver::outcome::{Attempt, log_unasked};
use crate::driver::session::{LockSession, Tried};

/// One acquisition under way. Dropped without a lock, it takes back whatever its attempts have left on the server.
///
/// An attempt takes it along, also into the task that carries a dropped attempt to its end, and hands it back: so nothing is
/// taken back before the attempt that may have left it has ended, whether its caller still waits or not.
pub(super) struct Acquiring<C: Carrier + 'static> {
    session: LockSession<SharedConnection<C>>,
    shadow: Option<Shadow>,
    runtime: Handle,
    pub(super) acquisition: Acquisition,
}

impl<C: Carrier + 'static> Acquiring<C> {
    pub(super) fn begin(
        session: LockSession<SharedConnection<C>>,
        shadow: Option<&Shadow>,
    ) -> Result<Box<Self>, Error> {
        let runtime = Handle::try_current().map_err(|error| Error::no_runtime(session.locker.key(), error))?;
        let acquisition = Acquisition::begin(&session.locker, &session.counters, host::task_number())?;
        Ok(Box::new(Self { session, shadow: shadow.cloned(), runtime, acquisition }))
    }

    /// Tries once, from `began` on, which is now. If this future is dropped the attempt goes on to its end, and what it wins or
    /// leaves is released.
    ///
    /// # Errors
    /// The runtime is shutting down. That the server cannot be used is the attempt's own result.
    pub(super) async fn attempt(
        mut self: Box<Self>,
        began: MonoTime,
    ) -> Result<(Box<Self>, Result<Attempt<Guard<C>>, Error>), Error> {
        let place = self.session.connection.workplace.now(&self.runtime);
        let locker = Arc::clone(&self.session.locker);
        let attempt = Box::pin(async move {
            let attempt = self.carry_out(began).await;
            Ok((self, attempt))
        });
        to_the_end(place, locker.key(), attempt).await
    }

    async fn carry_out(&mut self, began: MonoTime) -> Result<Attempt<Guard<C>>, Error> {
        match self.session.attempt(&self.acquisition.owner()).await? {
            Tried::Won { hold, entry, replicated } => {
                let now = host::mono();
                let guard = self.guard(hold, entry, now);
                if replicated.is_ok() && !guard.has_ended(now) {
                    return Ok(self.acquisition.won(guard, now));
                }
                let released = guard.release().await;
                log_unasked(&*self.session.locker, &released);
                self.acquisition.not_kept(replicated)
            }
            Tried::Refused(held) => {
                self.shadow.iter().for_each(|shadow| shadow.look(&self.runtime));
                self.acquisition.refused(held, began, host::mono())
            }
            Tried::Interrupted(interrupted) => self.acquisition.interrupted(interrupted),
        }
    }

    /// Takes what another client's release has handed over; `None` if replicas have to confirm it first.
    pub(super) fn take(&mut self, hold: Hold) -> Option<Attempt<Guard<C>>> {
        let now = host::mono();
        self.session.replication.is_none().then(|| {
            let guard = self.guard(hold, None, now);
            self.acquisition.won(guard, now)
        })
    }

    fn guard(&self, hold: Hold, entry: Option<ReentrantEntry>, now: MonoTime) -> Guard<C> {
        let shadow = self.shadow.as_ref().and_then(|shadow| shadow.take(&self.runtime));
        Guard::new(
            HeldLock::new(self.session.clone(), self.acquisition.owner(), hold, shadow, entry, now),
            self.runtime.clone(),
        )
    }

    /// Gives up, and returns when nothing is left on the server.
    pub(super) async fn give_up(mut self: Box<Self>) {
        if self.acquisition.give_up() {
            let (session, owner) = (self.session.clone(), self.acquisition.owner());
            let withdrawing = Box::pin(async move {
                session.withdraw(&owner).await;
                Ok(())
            });
            let place = self.session.connection.workplace.now(&self.runtime);
            let withdrawn = to_the_end(place, self.session.locker.key(), withdrawing).await;
            withdrawn.unwrap_or_else(|error| log::warn!(target: ACQUIRE, "could not leave the queue: {error}"));
        }
    }
}

impl<C: Carrier + 'static> Drop for Acquiring<C> {
    fn drop(&mut self) {
        if self.acquisition.give_up() {
            let (session, owner) = (self.session.clone(), self.acquisition.owner());
            let locker = Arc::clone(&session.locker);
            alone(&self.runtime, locker, async move { session.withdraw(&owner).await });
        }
    }
}
