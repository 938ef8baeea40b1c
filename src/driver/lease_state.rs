//! What a holder knows about its lease: until when it may work, and whether it has ended. Once ended it stays ended. A
//! value: the time is an argument.

use std::sync::Arc;
use std::time::Duration;

use lockshift_lock::{Extended, Hold, LateRelease, Locker, Released};
use lockshift_wire::{Entry, MonoTime, Pending, Transcript, Turn};

use super::counters::Counters;
use super::interrupted::has_acted;

/// How a lock was lost while its holder still wanted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Loss {
    /// The server answered that the lock is no longer this holder's.
    Taken,
    /// The lease ran out on our own clock before the server confirmed another one.
    Overrun,
    /// The server still holds it for this holder, and another client may be working beside it all the same: of the keys
    /// that the lock holds at once, one had been changed. A release still releases what is this holder's.
    Intruded,
}

/// What a watcher of a lease does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watched<T> {
    /// It knows what it waits for.
    Known(T),
    /// It looks again after this long, or sooner if the lease changes.
    In(Duration),
}

/// How a lease ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Ending {
    /// It was released in time.
    Released,
    /// It was lost.
    Lost(Loss),
}

/// One holder's lease. How long it was held and whether it was lost is counted once each.
#[derive(Debug)]
pub(super) struct LeaseState {
    hold: Hold,
    /// Until when the holder may work; `None` where the lock never expires.
    valid_until: Option<MonoTime>,
    ending: Option<Ending>,
    counters: Arc<Counters>,
    began: MonoTime,
    is_counted_as_lost: bool,
    is_counted_as_held: bool,
}

impl LeaseState {
    /// The lease that begins with this hold, which was won now. Where the lock never expires, time does not end it.
    pub(super) fn new(hold: Hold, expires: bool, counters: Arc<Counters>, now: MonoTime) -> Self {
        let valid_until = expires.then(|| hold.valid_until());
        Self {
            hold,
            valid_until,
            ending: None,
            counters,
            began: now,
            is_counted_as_lost: false,
            is_counted_as_held: false,
        }
    }

    /// What is held, as of the last confirmation.
    pub(super) fn hold(&self) -> &Hold {
        &self.hold
    }

    /// For how long the holder may still work: zero once it has ended.
    pub(super) fn remaining(&self, now: MonoTime) -> Duration {
        match (self.ending, self.valid_until) {
            (None, Some(until)) => until.saturating_since(now),
            (None, None) => Duration::MAX,
            (Some(Ending::Released | Ending::Lost(_)), _) => Duration::ZERO,
        }
    }

    /// Whether it has ended, and how.
    pub(super) fn ending(&self, now: MonoTime) -> Option<Ending> {
        let overrun = || self.valid_until.is_some_and(|until| now >= until);
        self.ending.or_else(|| overrun().then_some(Ending::Lost(Loss::Overrun)))
    }

    /// How the lock was lost, if it was.
    pub(super) fn lost(&self, now: MonoTime) -> Option<Loss> {
        match self.ending(now) {
            Some(Ending::Lost(loss)) => Some(loss),
            Some(Ending::Released) | None => None,
        }
    }

    /// For a caller that waits until the lock is lost: how, or `None` once it was released in time.
    pub(super) fn watch_for_loss(&self, now: MonoTime) -> Watched<Option<Loss>> {
        match self.ending(now) {
            Some(_) => Watched::Known(self.lost(now)),
            None => Watched::In(self.remaining(now)),
        }
    }

    /// For a caller that waits until at most `margin` remains: how much does, zero if the lock is lost, or `None` once it was
    /// released in time.
    pub(super) fn watch_for_end(&self, margin: Duration, now: MonoTime) -> Watched<Option<Duration>> {
        let remaining = self.remaining(now);
        match self.ending(now) {
            Some(Ending::Released) => Watched::Known(None),
            Some(Ending::Lost(_)) => Watched::Known(Some(Duration::ZERO)),
            None if remaining <= margin => Watched::Known(Some(remaining)),
            None => Watched::In(remaining - margin),
        }
    }

    /// Ends it, unless it has ended already; what remains to be released.
    pub(super) fn end(&mut self, now: MonoTime) -> EndedLease {
        let ending = self.ending(now).unwrap_or(Ending::Released);
        self.ending = Some(ending);
        let loss = match ending {
            Ending::Released => None,
            Ending::Lost(loss) => Some(loss),
        };
        if loss.is_some() {
            self.count_loss();
        }
        if !std::mem::replace(&mut self.is_counted_as_held, true) {
            self.counters.note_held(now.saturating_since(self.began));
        }
        EndedLease { hold: self.hold.clone(), loss }
    }

    /// What to extend; `None` if the lock is lost or released.
    pub(super) fn begin_extension(&mut self, now: MonoTime) -> Option<Hold> {
        if self.remaining(now).is_zero() {
            self.count_loss();
            return None;
        }
        Some(self.hold.clone())
    }

    /// Takes note of how an extension ended. One that is confirmed after the lease had ended comes too late: the
    /// holder may have noticed the end already, and another client may have had the lock in between.
    pub(super) fn note(&mut self, extended: Extended, now: MonoTime) -> Extended {
        let extended = match (self.ending(now), extended) {
            (None, Extended::Until(hold)) => {
                self.confirm(hold.clone());
                Extended::Until(hold)
            }
            (None, Extended::Intruded(hold)) => {
                self.confirm(hold.clone());
                self.ending = Some(Ending::Lost(Loss::Intruded));
                self.counters.note_intrusion();
                Extended::Intruded(hold)
            }
            (None, Extended::Lost) => {
                self.ending = Some(Ending::Lost(Loss::Taken));
                Extended::Lost
            }
            (_, Extended::Unsupported) => Extended::Unsupported,
            (ending @ Some(_), Extended::Until(_) | Extended::Intruded(_) | Extended::Lost) => {
                self.ending = ending;
                Extended::Lost
            }
        };
        if matches!(extended, Extended::Lost | Extended::Intruded(_)) {
            self.count_loss();
        }
        extended
    }

    /// Takes note of how the release ended.
    pub(super) fn note_released(&mut self, released: Released) {
        match released {
            Released::Lost => self.count_loss(),
            Released::Intruded => {
                self.counters.note_intrusion();
                self.count_loss();
            }
            Released::Freed | Released::LeftAlone | Released::StillHeld => {}
        }
    }

    fn confirm(&mut self, hold: Hold) {
        self.valid_until = self.valid_until.map(|_| hold.valid_until());
        self.hold = hold;
    }

    fn count_loss(&mut self) {
        if !std::mem::replace(&mut self.is_counted_as_lost, true) {
            self.counters.note_lost();
        }
    }
}

/// A lease that its holder has ended, and the release that remains.
#[derive(Clone, Debug)]
pub(super) struct EndedLease {
    hold: Hold,
    loss: Option<Loss>,
}

impl EndedLease {
    /// Whether it ended before the lock was lost.
    pub(super) fn is_in_time(&self) -> bool {
        self.loss.is_none()
    }

    /// The release, as far as it may be sent at this moment. One that could free another acquisition's lock is not begun
    /// once the lock is lost, and not carried on if the lease ends before it has written anything; except under a WATCH,
    /// which would stay on the connection.
    ///
    /// What remains is the race of those protocols themselves: a command that was sent in time may arrive late.
    pub(super) fn release(
        &self,
        locker: &dyn Locker,
        redis: &mut Transcript,
        now: impl Fn() -> MonoTime,
    ) -> Turn<Released> {
        let turn = locker.release(&self.hold, redis);
        let sends = matches!(turn, Err(Pending::Send(_) | Pending::Round(_)));
        let is_lost = || self.loss.is_some() || now() >= self.hold.valid_until();
        let has_begun = || redis.entries().iter().any(|entry| !matches!(entry, Entry::Clock(_)));
        let can_stop = || if locker.needs_own_connection() { !has_begun() } else { !has_acted(redis) };
        match locker.late_release() {
            LateRelease::MayFreeAnother if sends && is_lost() && can_stop() => Ok(Released::Lost),
            LateRelease::MayFreeAnother | LateRelease::Harmless => turn,
        }
    }
}

#[cfg(test)]
mod tests {
    use lockshift_lock::Lease;
    use lockshift_wire::{Reading, UnixTime};

    use super::*;

    const fn at(millis: u64) -> MonoTime {
        MonoTime::since_origin(Duration::from_millis(millis))
    }

    /// A lease of a second from that millisecond on: with the drift taken off, it may be relied on for 988 ms.
    fn hold_since(millis: u64) -> Hold {
        let since = Reading { wall: UnixTime::from_nanos(0), mono: at(millis) };
        Hold { value: vec![], since, lease: Lease::new(Duration::from_secs(1)).unwrap(), fence: None }
    }

    fn lease_since(millis: u64) -> LeaseState {
        LeaseState::new(hold_since(millis), true, Arc::default(), at(millis))
    }

    #[test]
    fn what_became_of_it_is_counted_once() {
        let counters = Arc::new(Counters::default());
        let mut state = LeaseState::new(hold_since(0), true, Arc::clone(&counters), at(5));
        assert_eq!(state.begin_extension(at(2000)), None, "overrun");
        state.end(at(2005));
        state.note_released(Released::Lost);
        state.end(at(9000));
        let counted = counters.counted();
        assert_eq!((counted.held, counted.lost), (Duration::from_secs(2), 1));
    }

    #[test]
    fn what_the_release_found_is_counted() {
        for (released, lost, intruded) in
            [(Released::Freed, 0, 0), (Released::LeftAlone, 0, 0), (Released::Lost, 1, 0), (Released::Intruded, 1, 1)]
        {
            let counters = Arc::new(Counters::default());
            let mut state = LeaseState::new(hold_since(0), true, Arc::clone(&counters), at(5));
            state.end(at(10));
            state.note_released(released);
            let counted = counters.counted();
            assert_eq!((counted.lost, counted.intruded), (lost, intruded), "{released:?}");
        }
    }

    #[test]
    fn a_term_is_overrun_at_the_end_of_its_validity() {
        let state = lease_since(100);
        assert_eq!(state.remaining(at(1087)), Duration::from_millis(1));
        assert_eq!(state.ending(at(1087)), None);
        assert_eq!(state.ending(at(1088)), Some(Ending::Lost(Loss::Overrun)));
        assert_eq!(state.remaining(at(1088)), Duration::ZERO);
    }

    #[test]
    fn a_lock_that_never_expires_is_not_lost_by_time() {
        let mut state = LeaseState::new(hold_since(0), false, Arc::default(), at(0));
        assert_eq!((state.ending(at(9_999_999)), state.remaining(at(9_999_999))), (None, Duration::MAX));
        assert_eq!(state.watch_for_loss(at(9_999_999)), Watched::In(Duration::MAX));
        state.end(at(9_999_999));
        assert_eq!(state.lost(at(9_999_999)), None);
    }

    #[test]
    fn a_confirmed_extension_moves_the_end() {
        let mut state = lease_since(0);
        assert_eq!(state.note(Extended::Until(hold_since(300)), at(310)), Extended::Until(hold_since(300)));
        assert_eq!(state.ending(at(1287)), None);
        assert_eq!(state.ending(at(1288)), Some(Ending::Lost(Loss::Overrun)));
    }

    #[test]
    fn an_extension_confirmed_after_the_end_brings_nothing_back() {
        let mut state = lease_since(0);
        assert_eq!(state.note(Extended::Until(hold_since(900)), at(988)), Extended::Lost);
        assert_eq!(state.ending(at(988)), Some(Ending::Lost(Loss::Overrun)));
        assert_eq!(*state.hold(), hold_since(0));
    }

    #[test]
    fn what_was_taken_stays_lost() {
        let mut state = lease_since(0);
        assert_eq!(state.note(Extended::Lost, at(5)), Extended::Lost);
        assert_eq!(state.note(Extended::Until(hold_since(6)), at(7)), Extended::Lost);
        state.end(at(8));
        assert_eq!(state.ending(at(9)), Some(Ending::Lost(Loss::Taken)));
        assert_eq!(state.remaining(at(9)), Duration::ZERO);
    }

    #[test]
    fn an_intrusion_is_a_loss_that_leaves_something_to_release() {
        let mut state = lease_since(0);
        assert_eq!(state.note(Extended::Intruded(hold_since(300)), at(310)), Extended::Intruded(hold_since(300)));
        assert_eq!(state.ending(at(311)), Some(Ending::Lost(Loss::Intruded)));
        assert_eq!(state.remaining(at(311)), Duration::ZERO);
        assert_eq!(*state.hold(), hold_since(300), "what was written last is what remains to be released");
    }

    #[test]
    fn a_watcher_is_warned_when_no_more_than_the_margin_remains() {
        let margin = Duration::from_millis(200);
        let mut state = lease_since(0);
        assert_eq!(state.watch_for_end(margin, at(700)), Watched::In(Duration::from_millis(88)));
        assert_eq!(state.watch_for_end(margin, at(788)), Watched::Known(Some(margin)));
        assert_eq!(state.watch_for_end(margin, at(2000)), Watched::Known(Some(Duration::ZERO)));
        state.note(Extended::Until(hold_since(700)), at(710));
        assert_eq!(state.watch_for_end(margin, at(788)), Watched::In(Duration::from_millis(700)), "renewed");
        state.end(at(800));
        assert_eq!(state.watch_for_end(margin, at(2000)), Watched::Known(None), "released in time");
    }

    #[test]
    fn a_lease_is_ended_in_time_before_the_lock_is_lost() {
        assert!(lease_since(0).end(at(987)).is_in_time());
        assert!(!lease_since(0).end(at(988)).is_in_time());
    }

    #[test]
    fn what_was_released_in_time_is_never_lost() {
        let mut state = lease_since(0);
        state.end(at(5));
        assert_eq!(state.ending(at(5000)), Some(Ending::Released));
    }
}
