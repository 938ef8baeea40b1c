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
    metrics: HoldMetrics,
    shadow: Mutex<Option<ShadowHold>>,
}

impl<C: Carrier + 'static> HeldLock<C> {
    pub(super) fn new(session: Session<C>, hold: Hold, shadow: Option<ShadowHold>) -> Self {
        let metrics = HoldMetrics::new(Arc::clone(&session.counters), host::mono());
        Self { session, watch: LossWatch::new(hold), metrics, shadow: Mutex::new(shadow) }
    }

    pub(super) fn key(&self) -> &Key {
        self.session.locker.key()
    }

    pub(super) fn watch(&self) -> &LossWatch {
        &self.watch
    }

    pub(super) async fn ownership(&self) -> Result<Ownership, Error> {
        let mut connection = self.session.for_holder().await;
        let hold = self.watch.hold();
        let standing = self.session.ask(&mut connection, |locker, redis| locker.ownership(&hold, redis)).await;
        standing.map_err(|interrupted| Error::because(self.key(), interrupted.cause))
    }

    /// Extends, and notes the outcome before anybody else may use the connection.
    pub(super) async fn extend(&self) -> Result<Answer<Extended>, Error> {
        let mut connection = self.session.for_holder().await;
        if self.watch.remaining().is_zero() {
            self.metrics.note_lost();
            return Ok(Answer::Known(Extended::Lost));
        }
        let hold = self.watch.hold();
        let extended = self.session.ask(&mut connection, |locker, redis| locker.extend(&hold, redis)).await;
        let noted = extended.map(|extended| self.watch.change(|state| state.note(extended, host::mono())));
        self.metrics.note_extended(&noted);
        if let (Ok(Extended::Until(_)), Some(shadow)) = (&noted, &*self.shadow()) {
            shadow.extend();
        }
        Answer::of(self.key(), noted)
    }

    /// Releases what is held, once an extension under way has been noted, also one whose caller has gone.
    pub(super) async fn release(&self) -> Result<Answer<Released>, Error> {
        let shadow = self.shadow().take();
        if let Some(shadow) = shadow {
            shadow.release().await;
        }
        let mut connection = self.session.for_holder().await;
        let ended = self.end();
        let release = |locker: &dyn Locker, redis: &mut Transcript| ended.release(locker, redis, host::mono());
        let released = self.session.ask(&mut connection, release).await;
        self.metrics.note_released(&released);
        Answer::of(self.key(), released)
    }

    /// Ends the lease, as far as anybody here is concerned, and says what remains to be released.
    fn end(&self) -> EndedLease {
        let ended = self.watch.end();
        if ended.was_lost() {
            self.metrics.note_lost();
        }
        self.metrics.end(host::mono());
        ended
    }

    /// Lets go without a word; what is held beside is left to its lease too.
    pub(super) fn abandon(&self) {
        self.end();
        let shadow = self.shadow().take();
        shadow.into_iter().for_each(ShadowHold::abandon);
    }

    fn shadow(&self) -> MutexGuard<'_, Option<ShadowHold>> {
        // What is in it is changed in one step.
        self.shadow.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
