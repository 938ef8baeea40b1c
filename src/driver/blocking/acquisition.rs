//! One acquisition under way, on its connection.

use lockshift_lock::Hold;
use lockshift_wire::MonoTime;

use super::carrier::Carrier;
use super::guard::Guard;
use super::shadow_hold::Shadow;
use super::shared_connection::SharedConnection;
use crate::driver::acquisition::Acquisition;
use crate::driver::entries::ReentrantEntry;
use crate::driver::error::Error;
use crate::driver::held_lock::HeldLock;
use crate::driver::host;
use crate::driver::link::at_once;
use crate::driver::outcome::{Attempt, log_unasked};
use crate::driver::session::{LockSession, Tried};

/// One acquisition under way. Dropped without a lock, it takes back whatever its attempts have left on the server.
pub(super) struct Acquiring<C: Carrier + 'static> {
    session: LockSession<SharedConnection<C>>,
    shadow: Option<Shadow>,
    pub(super) acquisition: Acquisition,
}

impl<C: Carrier + 'static> Acquiring<C> {
    pub(super) fn begin(session: &LockSession<SharedConnection<C>>, shadow: Option<&Shadow>) -> Result<Self, Error> {
        let acquisition = Acquisition::begin(&session.locker, &session.counters, host::thread_number())?;
        Ok(Self { session: session.clone(), shadow: shadow.cloned(), acquisition })
    }

    /// Tries once, from `began` on, which is now.
    pub(super) fn attempt(&mut self, began: MonoTime) -> Result<Attempt<Guard<C>>, Error> {
        match at_once(self.session.attempt(&self.acquisition.owner()))? {
            Tried::Won { hold, entry, replicated } => {
                let now = host::mono();
                let guard = self.guard(hold, entry, now);
                if replicated.is_ok() && !guard.has_ended(now) {
                    return Ok(self.acquisition.won(guard, now));
                }
                log_unasked(&*self.session.locker, &guard.release());
                self.acquisition.not_kept(replicated)
            }
            Tried::Refused(held) => {
                self.shadow.iter().for_each(Shadow::look);
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
        let shadow = self.shadow.as_ref().and_then(Shadow::take);
        Guard::new(HeldLock::new(self.session.clone(), self.acquisition.owner(), hold, shadow, entry, now))
    }
}

impl<C: Carrier + 'static> Drop for Acquiring<C> {
    fn drop(&mut self) {
        if self.acquisition.give_up() {
            at_once(self.session.withdraw(&self.acquisition.owner()));
        }
    }
}
