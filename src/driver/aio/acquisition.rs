//! One acquisition under way: the attempts of one wait.

use lockshift_lock::{Acquired, Locker, Owner, ReleaseChannel};
use lockshift_wire::{MonoTime, Transcript};
use tokio::runtime::Handle;

use super::carrier::Carrier;
use super::guard::Guard;
use super::session::Session;
use super::shadow_hold::Shadow;
use super::unattended::{alone, to_the_end};
use crate::driver::error::Error;
use crate::driver::events::ACQUIRE;
use crate::driver::host;
use crate::driver::outcome::{Attempt, Unknown, log_unasked};

/// One acquisition under way. Dropped without a lock, it takes back whatever its tries have left on the server.
///
/// A try takes it along into the task that carries the try to its end, and hands it back: so nothing is taken back
/// before the try that may have left it has ended, whether its caller still waits or not.
pub(super) struct Acquisition<C: Carrier + 'static> {
    session: Session<C>,
    shadow: Option<Shadow>,
    owner: Owner,
    runtime: Handle,
    began: MonoTime,
    /// The last try was refused, and may have left a place in a queue.
    is_refused: bool,
}

impl<C: Carrier + 'static> Acquisition<C> {
    pub(super) fn new(session: Session<C>, shadow: Option<Shadow>) -> Result<Self, Error> {
        let key = session.locker.key();
        let runtime = Handle::try_current().map_err(|error| Error::no_runtime(key, error))?;
        let owner = host::owner(host::task_number()).map_err(|error| Error::no_randomness(key, error))?;
        Ok(Self { session, shadow, owner, runtime, began: host::mono(), is_refused: false })
    }

    /// The owner of the next attempt.
    pub(super) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Where a release would be announced.
    pub(super) fn release_channel(&self) -> Option<ReleaseChannel> {
        self.session.locker.release_channel(&self.owner)
    }

    /// Tries once, in a task of its own. If this future is dropped the attempt goes on to its end, and what it wins or
    /// leaves is released.
    ///
    /// Each attempt has a token of its own, so that a command of one attempt that arrives late cannot delete what the next
    /// one has won. Only a place in a queue keeps its token from one attempt to the next, as long as each of them was
    /// answered.
    ///
    /// # Errors
    /// The runtime is shutting down. That the server cannot be used is the attempt's own result.
    pub(super) async fn attempt(self) -> Result<(Self, Result<Attempt<Guard<C>>, Error>), Error> {
        let (runtime, key) = (self.runtime.clone(), self.session.locker.key().clone());
        to_the_end(&runtime, &key, async { Ok(self.carry_out().await) }).await
    }

    async fn carry_out(mut self) -> (Self, Result<Attempt<Guard<C>>, Error>) {
        let session = self.session.clone();
        let mut connection = session.for_attempt().await;
        let owner = self.owner;
        let interrupted = match session.ask(&mut connection, |locker, redis| locker.acquire(&owner, redis)).await {
            Ok(Acquired::Won(hold)) => {
                drop(connection);
                let beside = self.shadow.as_ref().and_then(|shadow| shadow.take(&self.runtime));
                let guard = Guard::new(session, hold, beside, self.runtime.clone());
                let attempt = self.won(guard).await;
                return (self, attempt);
            }
            Ok(Acquired::Held(held)) => {
                self.shadow.iter().for_each(|shadow| shadow.look(&self.runtime));
                let attempt = Attempt::refused(session.locker.key(), held);
                self.is_refused = attempt.is_ok();
                let attempt = if self.has_a_place() { attempt } else { self.renew_token().and(attempt) };
                return (self, attempt);
            }
            Err(interrupted) => interrupted,
        };
        if interrupted.may_have_acted {
            self.is_refused = false;
            session.disclaim(&mut connection, &owner).await;
        }
        drop(connection);
        let may_have_acted = interrupted.may_have_acted;
        let attempt = Unknown::or_error(session.locker.key(), interrupted).map(Attempt::Unknown);
        let attempt = if may_have_acted { self.renew_token().and(attempt) } else { attempt };
        (self, attempt)
    }

    async fn won(&mut self, guard: Guard<C>) -> Result<Attempt<Guard<C>>, Error> {
        if guard.lost().is_some() {
            self.is_refused = true;
            let key = guard.key().clone();
            log_unasked(&key, &guard.release().await);
            self.renew_token()?;
            return Ok(Attempt::TooLate);
        }
        self.is_refused = false;
        self.session.counters.note_acquired(host::mono().saturating_since(self.began));
        log::debug!(target: ACQUIRE, "lock key `{}`: acquired", guard.key());
        Ok(Attempt::Won(guard))
    }

    fn renew_token(&mut self) -> Result<(), Error> {
        let owner = host::owner(self.owner.thread);
        self.owner = owner.map_err(|error| Error::no_randomness(self.session.locker.key(), error))?;
        Ok(())
    }

    /// Whether an attempt that was refused leaves a place in a queue: then the protocol has something to withdraw.
    fn has_a_place(&self) -> bool {
        self.session.locker.withdraw(&self.owner, &mut Transcript::new()).is_err()
    }

    /// Gives up, and returns when nothing is left on the server.
    pub(super) async fn give_up(mut self) {
        let (runtime, key) = (self.runtime.clone(), self.session.locker.key().clone());
        if let Some(withdrawal) = self.withdrawal() {
            let carrying_out = async {
                withdrawal.await;
                Ok(())
            };
            let carried_out = to_the_end(&runtime, &key, carrying_out).await;
            carried_out.unwrap_or_else(|error| log::warn!(target: ACQUIRE, "could not leave the queue: {error}"));
        }
    }

    /// What has to be done on the server after giving up.
    fn withdrawal(&mut self) -> Option<impl Future<Output = ()> + Send + use<C>> {
        if !std::mem::take(&mut self.is_refused) {
            return None;
        }
        self.session.counters.note_refused(host::mono().saturating_since(self.began));
        log::debug!(target: ACQUIRE, "lock key `{}`: not acquired", self.session.locker.key());
        self.has_a_place().then(|| withdraw(self.session.clone(), self.owner))
    }
}

impl<C: Carrier + 'static> Drop for Acquisition<C> {
    fn drop(&mut self) {
        if let Some(withdrawal) = self.withdrawal() {
            alone(&self.runtime, self.session.locker.key().clone(), withdrawal);
        }
    }
}

async fn withdraw<C: Carrier + 'static>(session: Session<C>, owner: Owner) {
    let mut connection = session.for_holder().await;
    let withdrawn = session.ask(&mut connection, |locker: &dyn Locker, redis| locker.withdraw(&owner, redis)).await;
    if let Err(error) = withdrawn {
        let key = session.locker.key();
        log::warn!(target: ACQUIRE, "lock key `{key}`: could not leave the queue: {}", error.cause);
    }
}
