//! One lock that was won, as its guard and its renewal share it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lockshift_lock::{Extended, Hold, Locker, Ownership, Released};
use lockshift_wire::{Key, Transcript};

use super::carrier::Carrier;
use super::loss_watch::LossWatch;
use super::session::Session;
use super::shadow_hold::ShadowHold;
use crate::driver::error::Error;
use crate::driver::hold_metrics::HoldMetrics;
use crate::driver::host;
use crate::driver::lease_state::EndedLease;
use crate::driver::outcome::Answer;

/// One lock that was won.
pub(super) struct HeldLock<C> {
    session: Session<C>,
    watch: LossWatch,
    stay: HoldMetrics,
    beside: Mutex<Option<ShadowHold>>,
}

impl<C: Carrier + 'static> HeldLock<C> {
    pub(super) fn new(session: Session<C>, hold: Hold, beside: Option<ShadowHold>) -> Self {
        let stay = HoldMetrics::new(Arc::clone(&session.counters), host::mono());
        Self { session, watch: LossWatch::new(hold), stay, beside: Mutex::new(beside) }
    }

    pub(super) fn key(&self) -> &Key {
        self.session.locker.key()
    }

    pub(super) fn watch(&self) -> &LossWatch {
        &self.watch
    }

    pub(super) fn ownership(&self) -> Result<Ownership, Error> {
        let mut connection = self.session.for_holder();
        let hold = self.watch.hold();
        let standing = self.session.ask(&mut connection, |locker, redis| locker.ownership(&hold, redis));
        standing.map_err(|interrupted| Error::because(self.key(), interrupted.cause))
    }

    /// Extends, and notes the outcome before anybody else may use the connection.
    pub(super) fn extend(&self) -> Result<Answer<Extended>, Error> {
        let mut connection = self.session.for_holder();
        if self.watch.left().is_zero() {
            self.stay.note_lost();
            return Ok(Answer::Known(Extended::Lost));
        }
        let hold = self.watch.hold();
        let extended = self.session.ask(&mut connection, |locker, redis| locker.extend(&hold, redis));
        let noted = extended.map(|extended| self.watch.change(|term| term.note(extended, host::mono())));
        drop(connection);
        self.stay.note_extended(&noted);
        if let (Ok(Extended::Until(_)), Some(beside)) = (&noted, &*self.beside()) {
            beside.extend();
        }
        Answer::of(self.key(), noted)
    }

    /// Releases what is held once an extension under way, of which nobody may know any more, has been noted.
    pub(super) fn give_back(&self) -> Result<Answer<Released>, Error> {
        // Out of its lock first: a renewal may be at it.
        let beside = self.beside().take();
        beside.into_iter().for_each(ShadowHold::release);
        let mut connection = self.session.for_holder();
        let ended = self.let_go();
        let release = |locker: &dyn Locker, redis: &mut Transcript| ended.release(locker, redis, host::mono());
        let released = self.session.ask(&mut connection, release);
        self.stay.note_released(&released);
        Answer::of(self.key(), released)
    }

    /// Ends the lease, as far as anybody here is concerned, and says what remains to be released.
    fn let_go(&self) -> EndedLease {
        let ended = self.watch.end();
        if ended.was_lost() {
            self.stay.note_lost();
        }
        self.stay.end(host::mono());
        ended
    }

    /// Lets go without a word; what is held beside is left to its lease too.
    pub(super) fn abandon(&self) {
        self.let_go();
        let beside = self.beside().take();
        beside.into_iter().for_each(ShadowHold::abandon);
    }

    fn beside(&self) -> MutexGuard<'_, Option<ShadowHold>> {
        // What is in it is changed in one step.
        self.beside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
