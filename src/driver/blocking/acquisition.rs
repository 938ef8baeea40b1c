//! One acquisition under way, on its connection.

use lockshift_lock::Acquired;

use super::carrier::Carrier;
use super::guard::Guard;
use super::session::Session;
use super::shadow_hold::Shadow;
use crate::driver::acquisition::Acquisition;
use crate::driver::entries::Entry;
use crate::driver::error::Error;
use crate::driver::host;
use crate::driver::interrupted::log_undone;
use crate::driver::outcome::{Attempt, log_unasked};

/// One acquisition under way. Dropped without a lock, it takes back whatever its attempts have left on the server.
pub(super) struct Acquiring<C: Carrier + 'static> {
    session: Session<C>,
    shadow: Option<Shadow>,
    pub(super) acquisition: Acquisition,
}

impl<C: Carrier + 'static> Acquiring<C> {
    pub(super) fn begin(session: &Session<C>, shadow: Option<&Shadow>) -> Result<Self, Error> {
        let acquisition = Acquisition::begin(&session.locker, &session.counters, host::thread_number())?;
        Ok(Self { session: session.clone(), shadow: shadow.cloned(), acquisition })
    }

    /// Tries once.
    pub(super) fn attempt(&mut self) -> Result<Attempt<Guard<C>>, Error> {
        let mut connection = self.session.for_attempt();
        self.session.check(&connection)?;
        let owner = self.acquisition.owner();
        self.session.disclaim_earlier(&mut connection, &owner)?;
        let entry = Entry::begin(&*self.session.locker, &owner);
        match self.session.ask(&mut connection, |locker, redis| locker.acquire(&owner, redis)) {
            Ok(Acquired::Won(hold)) => {
                let replicated = self.session.replicate(&mut connection);
                drop(connection);
                let shadow = self.shadow.as_ref().and_then(Shadow::take);
                let guard = Guard::new(self.session.clone(), hold, shadow, entry);
                if replicated.is_ok() && guard.lost().is_none() {
                    return Ok(self.acquisition.won(guard));
                }
                let key = guard.key().clone();
                log_unasked(&key, &guard.release());
                self.acquisition.not_kept(replicated)
            }
            Ok(Acquired::Held(held)) => {
                drop(connection);
                self.shadow.iter().for_each(Shadow::look);
                self.acquisition.refused(held)
            }
            Err(interrupted) => {
                drop(entry);
                if interrupted.may_have_acted {
                    // Without a reply it is due before the next attempt.
                    let _ = self.session.disclaim(&mut connection, &owner);
                }
                self.acquisition.interrupted(interrupted)
            }
        }
    }
}

impl<C: Carrier + 'static> Drop for Acquiring<C> {
    fn drop(&mut self) {
        if self.acquisition.give_up() {
            let (mut connection, owner) = (self.session.for_holder(), self.acquisition.owner());
            let withdrawn = self.session.ask(&mut connection, |locker, redis| locker.withdraw(&owner, redis));
            log_undone(self.session.locker.key(), "leave the queue", &withdrawn);
        }
    }
}
