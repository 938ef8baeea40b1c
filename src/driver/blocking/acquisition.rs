//! One acquisition under way: the attempts of one wait.

use lockshift_lock::{Acquired, Owner, ReleaseChannel};
use lockshift_wire::{MonoTime, Transcript};

use super::carrier::Carrier;
use super::guard::Guard;
use super::session::Session;
use super::shadow_hold::Shadow;
use crate::driver::error::Error;
use crate::driver::events::ACQUIRE;
use crate::driver::host;
use crate::driver::outcome::{Attempt, Unknown, log_unasked};

/// One acquisition under way. Dropped without a lock, it takes back whatever its tries have left on the server.
pub(super) struct Acquisition<C: Carrier + 'static> {
    session: Session<C>,
    shadow: Option<Shadow>,
    owner: Owner,
    began: MonoTime,
    /// The last try was refused, and may have left a place in a queue.
    is_refused: bool,
}

impl<C: Carrier + 'static> Acquisition<C> {
    pub(super) fn new(session: Session<C>, shadow: Option<Shadow>) -> Result<Self, Error> {
        let owner =
            host::owner(host::thread_number()).map_err(|error| Error::no_randomness(session.locker.key(), error))?;
        Ok(Self { session, shadow, owner, began: host::mono(), is_refused: false })
    }

    /// The owner of the next attempt.
    pub(super) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Where a release would be announced.
    pub(super) fn release_channel(&self) -> Option<ReleaseChannel> {
        self.session.locker.release_channel(&self.owner)
    }

    /// Tries once. Each attempt has a token of its own, so that a command of one attempt that arrives late cannot delete
    /// what the next one has won. Only a place in a queue keeps its token from one attempt to the next, as long as each of
    /// them was answered.
    pub(super) fn attempt(&mut self) -> Result<Attempt<Guard<C>>, Error> {
        let mut connection = self.session.for_attempt();
        if !self.session.fits(&connection) {
            return Err(Error::shared_connection(self.session.locker.key()));
        }
        let interrupted = match self.session.ask(&mut connection, |locker, redis| locker.acquire(&self.owner, redis)) {
            Ok(Acquired::Won(hold)) => {
                drop(connection);
                let beside = self.shadow.as_ref().and_then(Shadow::take);
                return self.won(Guard::new(self.session.clone(), hold, beside));
            }
            Ok(Acquired::Held(held)) => {
                drop(connection);
                self.shadow.iter().for_each(Shadow::look);
                let attempt = Attempt::refused(self.session.locker.key(), held);
                self.is_refused = attempt.is_ok();
                if !self.has_a_place() {
                    self.renew_token()?;
                }
                return attempt;
            }
            Err(interrupted) => interrupted,
        };
        if interrupted.may_have_acted {
            self.is_refused = false;
            self.session.disclaim(&mut connection, &self.owner);
            drop(connection);
            self.renew_token()?;
        }
        Unknown::or_error(self.session.locker.key(), interrupted).map(Attempt::Unknown)
    }

    fn won(&mut self, guard: Guard<C>) -> Result<Attempt<Guard<C>>, Error> {
        if guard.lost().is_some() {
            self.is_refused = true;
            let key = guard.key().clone();
            log_unasked(&key, &guard.release());
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
}

impl<C: Carrier + 'static> Drop for Acquisition<C> {
    fn drop(&mut self) {
        if !self.is_refused {
            return;
        }
        let key = self.session.locker.key();
        self.session.counters.note_refused(host::mono().saturating_since(self.began));
        log::debug!(target: ACQUIRE, "lock key `{key}`: not acquired");
        if !self.has_a_place() {
            return;
        }
        let mut connection = self.session.for_holder();
        if let Err(error) = self.session.ask(&mut connection, |locker, redis| locker.withdraw(&self.owner, redis)) {
            log::warn!(target: ACQUIRE, "lock key `{key}`: could not leave the queue: {}", error.cause);
        }
    }
}
