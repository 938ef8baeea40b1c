//! One lock that was won, as its guard and its renewal share it.

use lockshift_lock::{Extended, Ownership, Released};
use lockshift_wire::Key;

use super::carrier::Carrier;
use super::session::Session;
use super::shadow_hold::ShadowHold;
use crate::driver::entries::Entry;
use crate::driver::error::Error;
use crate::driver::host;
use crate::driver::lease_state::LeaseState;
use crate::driver::outcome::Answer;
use crate::driver::watched_lease::WatchedLease;

/// One lock that was won.
pub(super) struct HeldLock<C> {
    pub(super) session: Session<C>,
    pub(super) lease: WatchedLease,
    pub(super) shadow: Option<ShadowHold>,
    /// Counts this hold, if the lock is re-entrant.
    pub(super) entry: Option<Entry>,
}

impl<C: Carrier + 'static> HeldLock<C> {
    pub(super) fn key(&self) -> &Key {
        self.session.locker.key()
    }

    pub(super) fn ownership(&self) -> Result<Ownership, Error> {
        let hold = self.lease.read(|state, _| state.hold().clone());
        self.session.ownership(&hold)
    }

    /// Extends, and notes the outcome before any other procedure may use the connection.
    pub(super) fn extend(&self) -> Result<Answer<Extended>, Error> {
        let mut connection = self.session.for_holder();
        let Some(hold) = self.lease.change(LeaseState::begin_extension) else {
            return Ok(Answer::Known(Extended::Lost));
        };
        let extended = self.session.ask(&mut connection, |locker, redis| locker.extend(&hold, redis));
        let noted = extended.map(|extended| self.lease.change(|state, now| state.note(extended, now)));
        drop(connection);
        if let (Ok(Extended::Until(_)), Some(shadow)) = (&noted, &self.shadow) {
            shadow.extend();
        }
        Answer::of(self.key(), noted)
    }

    /// Releases what is held, once an extension under way has been noted, also one whose caller has stopped waiting.
    pub(super) fn release(&self) -> Result<Answer<Released>, Error> {
        if let Some(shadow) = &self.shadow {
            shadow.release();
        }
        let mut connection = self.session.for_holder();
        let ended = self.lease.change(LeaseState::end);
        let released = self.session.ask(&mut connection, |locker, redis| ended.release(locker, redis, host::mono()));
        released.iter().for_each(|released| self.lease.change(|state, _| state.note_released(*released)));
        Answer::of(self.key(), released)
    }

    /// Ends the hold without sending anything; the shadow is left to its lease too.
    pub(super) fn abandon(&self) {
        self.lease.change(LeaseState::end);
        self.entry.iter().for_each(Entry::keep);
        self.shadow.iter().for_each(ShadowHold::abandon);
    }
}
