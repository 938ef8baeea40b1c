//! One lock that was won, as its guard and its renewal share it.

use std::sync::Arc;

use lockshift_lock::{Extended, Hold, Owner, Ownership, Released};
use lockshift_wire::{Key, MonoTime};

use super::entries::ReentrantEntry;
use super::error::Error;
use super::events::RELEASE;
use super::host;
use super::interrupted::Interrupted;
use super::lease_state::{EndedLease, LeaseState};
use super::link::SharedLink;
use super::outcome::Answer;
use super::session::LockSession;
use super::watched_lease::WatchedLease;

/// One lock that was won, and what is held beside it.
pub(super) struct HeldLock<S, B> {
    pub(super) session: LockSession<S>,
    owner: Owner,
    pub(super) lease: WatchedLease,
    beside: Option<B>,
    /// Counts this hold, if the lock is re-entrant.
    entry: Option<ReentrantEntry>,
}

/// What is held beside a lock, and has to keep up with it.
pub(super) trait HeldBeside {
    /// The lock was extended.
    fn extend(&self);
    /// The lock is about to be released.
    async fn release(&self);
    /// The lock is abandoned: nothing is sent.
    fn abandon(&self);
}

impl<S: SharedLink, B: HeldBeside> HeldLock<S, B> {
    /// What this owner has won now.
    pub(super) fn new(
        session: LockSession<S>,
        owner: Owner,
        hold: Hold,
        beside: Option<B>,
        entry: Option<ReentrantEntry>,
        now: MonoTime,
    ) -> Self {
        let counters = Arc::clone(&session.counters);
        let lease = WatchedLease::new(LeaseState::new(hold, session.locker.expires(), counters, now));
        Self { session, owner, lease, beside, entry }
    }

    pub(super) fn key(&self) -> &Key {
        self.session.locker.key()
    }

    /// The client that has won it.
    pub(super) fn owner(&self) -> &Owner {
        &self.owner
    }

    pub(super) async fn ownership(&self) -> Result<Ownership, Error> {
        let hold = self.lease.read(|state, _| state.hold().clone());
        self.session.ownership(&hold).await
    }

    /// Extends, and notes the outcome before any other procedure may use the connection.
    pub(super) async fn extend(&self) -> Result<Answer<Extended>, Error> {
        let mut connection = self.session.connection.for_holder().await;
        let Some(hold) = self.lease.change(LeaseState::begin_extension) else {
            return Ok(Answer::Known(Extended::Lost));
        };
        let extended = self.session.ask(&mut connection, |locker, redis| locker.extend(&hold, redis)).await;
        let noted = extended.map(|extended| self.lease.change(|state, now| state.note(extended, now)));
        drop(connection);
        if let (Ok(Extended::Until(_)), Some(beside)) = (&noted, &self.beside) {
            beside.extend();
        }
        Answer::of(self.key(), noted)
    }

    /// Releases what is held, once an extension under way has been noted, also one whose caller has stopped waiting.
    pub(super) async fn release(&self) -> Result<Answer<Released>, Error> {
        if let Some(beside) = &self.beside {
            beside.release().await;
        }
        let mut connection = self.session.connection.for_holder().await;
        let (ended, now) = self.lease.change(|state, now| (state.end(now), now));
        if ended.is_in_time() {
            self.session.begin_release(&self.owner, now);
        }
        let released = self.send_release(&mut connection, &ended).await;
        released.iter().for_each(|released| self.lease.note_released(*released));
        Answer::of(self.key(), released)
    }

    /// Sends the release; once more where the connection broke meanwhile and a second run can do no harm: nothing but reads was
    /// sent, or the protocol compares what this hold wrote.
    async fn send_release(
        &self,
        connection: &mut S::Borrowed<'_>,
        ended: &EndedLease,
    ) -> Result<Released, Interrupted> {
        match self.send_release_once(connection, ended).await {
            // In a box: each release would have room for it otherwise.
            Err(interrupted) if self.may_repeat(&interrupted) => {
                Box::pin(self.repeat_release(interrupted, connection, ended)).await
            }
            released => released,
        }
    }

    /// Without a reply to the first run, a second one that finds nothing leaves open whether the first has released.
    async fn repeat_release(
        &self,
        first: Interrupted,
        connection: &mut S::Borrowed<'_>,
        ended: &EndedLease,
    ) -> Result<Released, Interrupted> {
        log::debug!(target: RELEASE, "lock key `{}`: the release is repeated: {}", self.key(), first.cause);
        match self.send_release_once(connection, ended).await {
            Ok(Released::Lost) | Err(_) if first.may_have_acted => Err(first),
            repeated => repeated,
        }
    }

    async fn send_release_once(
        &self,
        connection: &mut S::Borrowed<'_>,
        ended: &EndedLease,
    ) -> Result<Released, Interrupted> {
        self.session.ask(connection, |locker, redis| ended.release(locker, redis, host::mono)).await
    }

    fn may_repeat(&self, interrupted: &Interrupted) -> bool {
        let is_harmless = !interrupted.may_have_acted || self.session.locker.release_is_repeatable();
        interrupted.ends_the_connection() && is_harmless
    }

    /// Ends the hold without sending anything; what is held beside it is left to its lease too.
    pub(super) fn abandon(&self) {
        self.lease.change(LeaseState::end);
        self.entry.iter().for_each(ReentrantEntry::keep);
        self.beside.iter().for_each(HeldBeside::abandon);
    }
}
