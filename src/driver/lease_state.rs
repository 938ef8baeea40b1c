//! What a holder knows about its lease: until when it may work, and whether it has ended. Once ended it stays ended. A
//! value: the time is an argument.

use std::time::Duration;

use lockshift_lock::{Extended, Hold, LateRelease, Locker, Released};
use lockshift_wire::{Entry, MonoTime, Pending, Transcript, Turn};

use super::interrupted::has_acted;

/// How a lock was lost while its holder still wanted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loss {
    /// The server says that it is no longer ours.
    Taken,
    /// The lease ran out on our own clock before the server confirmed another one.
    Overrun,
    /// It is still ours on the server, and somebody may be working beside us all the same: of the keys that it holds at
    /// once, one was not as we had left it. Giving the lock back still gives back what is ours.
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

/// Why a term is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Over {
    /// It was given back.
    Ended,
    /// It was lost.
    Lost(Loss),
}

/// One holder's term.
#[derive(Clone, Debug)]
pub(super) struct LeaseState {
    hold: Hold,
    over: Option<Over>,
}

impl LeaseState {
    /// The term that begins with this hold.
    pub(super) fn new(hold: Hold) -> Self {
        Self { hold, over: None }
    }

    /// What is held, as of the last confirmation.
    pub(super) fn hold(&self) -> &Hold {
        &self.hold
    }

    /// For how long the holder may still work: zero once the term is over.
    pub(super) fn left(&self, now: MonoTime) -> Duration {
        match self.over {
            None => self.hold.valid_until().saturating_since(now),
            Some(Over::Ended | Over::Lost(_)) => Duration::ZERO,
        }
    }

    /// Whether the term is over, and why.
    pub(super) fn over(&self, now: MonoTime) -> Option<Over> {
        let overrun = || now >= self.hold.valid_until();
        self.over.or_else(|| overrun().then_some(Over::Lost(Loss::Overrun)))
    }

    /// How the lock was lost, if it was.
    pub(super) fn lost(&self, now: MonoTime) -> Option<Loss> {
        match self.over(now) {
            Some(Over::Lost(loss)) => Some(loss),
            Some(Over::Ended) | None => None,
        }
    }

    /// For whoever waits until the lock is lost: how, or `None` once it was released in time.
    pub(super) fn watch_for_loss(&self, now: MonoTime) -> Watched<Option<Loss>> {
        match self.over(now) {
            Some(_) => Watched::Known(self.lost(now)),
            None => Watched::In(self.left(now)),
        }
    }

    /// For whoever waits until at most `margin` remains: how much does, zero if the lock is lost, or `None` once it was
    /// released in time.
    pub(super) fn watch_for_end(&self, margin: Duration, now: MonoTime) -> Watched<Option<Duration>> {
        let remaining = self.left(now);
        match self.over(now) {
            Some(Over::Ended) => Watched::Known(None),
            Some(Over::Lost(_)) => Watched::Known(Some(Duration::ZERO)),
            None if remaining <= margin => Watched::Known(Some(remaining)),
            None => Watched::In(remaining - margin),
        }
    }

    /// Ends it, unless it has ended already; what remains to be released.
    pub(super) fn end(&mut self, now: MonoTime) -> EndedLease {
        let loss = self.lost(now);
        self.over = self.over(now).or(Some(Over::Ended));
        EndedLease { hold: self.hold.clone(), loss }
    }

    /// Takes note of how an extension ended. One that is confirmed after the term was over comes too late: the holder
    /// may have been told already, and somebody may have had the lock in between.
    pub(super) fn note(&mut self, extended: Extended, now: MonoTime) -> Extended {
        match (self.over(now), extended) {
            (None, Extended::Until(hold)) => {
                self.hold = hold.clone();
                Extended::Until(hold)
            }
            (None, Extended::Intruded(hold)) => {
                self.hold = hold.clone();
                self.over = Some(Over::Lost(Loss::Intruded));
                Extended::Intruded(hold)
            }
            (None, Extended::Lost) => {
                self.over = Some(Over::Lost(Loss::Taken));
                Extended::Lost
            }
            (_, Extended::Unsupported) => Extended::Unsupported,
            (over @ Some(_), Extended::Until(_) | Extended::Intruded(_) | Extended::Lost) => {
                self.over = over;
                Extended::Lost
            }
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
    /// Whether the lock had been lost before.
    pub(super) fn was_lost(&self) -> bool {
        self.loss.is_some()
    }

    /// The release, as far as it may be sent at this moment. One that could free another acquisition's lock is not begun
    /// once the lock is lost, and not carried on if the lease ends before it has written anything; except under a WATCH,
    /// which would stay on the connection.
    ///
    /// What remains is the race of those protocols themselves: a command that was sent in time may arrive late.
    pub(super) fn release(&self, locker: &dyn Locker, redis: &mut Transcript, now: MonoTime) -> Turn<Released> {
        let turn = locker.release(&self.hold, redis);
        let sends = matches!(turn, Err(Pending::Send(_) | Pending::Round(_)));
        let is_lost = self.was_lost() || now >= self.hold.valid_until();
        let has_begun = redis.entries().iter().any(|entry| !matches!(entry, Entry::Clock(_)));
        let can_stop = if locker.needs_own_connection() { !has_begun } else { !has_acted(redis) };
        match locker.late_release() {
            LateRelease::MayFreeAnother if sends && is_lost && can_stop => Ok(Released::Lost),
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

    #[test]
    fn a_term_is_overrun_at_the_end_of_its_validity() {
        let term = LeaseState::new(hold_since(100));
        assert_eq!(term.left(at(1087)), Duration::from_millis(1));
        assert_eq!(term.over(at(1087)), None);
        assert_eq!(term.over(at(1088)), Some(Over::Lost(Loss::Overrun)));
        assert_eq!(term.left(at(1088)), Duration::ZERO);
    }

    #[test]
    fn a_confirmed_extension_moves_the_end() {
        let mut term = LeaseState::new(hold_since(0));
        assert_eq!(term.note(Extended::Until(hold_since(300)), at(310)), Extended::Until(hold_since(300)));
        assert_eq!(term.over(at(1287)), None);
        assert_eq!(term.over(at(1288)), Some(Over::Lost(Loss::Overrun)));
    }

    #[test]
    fn an_extension_confirmed_after_the_end_brings_nothing_back() {
        let mut term = LeaseState::new(hold_since(0));
        assert_eq!(term.note(Extended::Until(hold_since(900)), at(988)), Extended::Lost);
        assert_eq!(term.over(at(988)), Some(Over::Lost(Loss::Overrun)));
        assert_eq!(*term.hold(), hold_since(0));
    }

    #[test]
    fn what_was_taken_stays_lost() {
        let mut term = LeaseState::new(hold_since(0));
        assert_eq!(term.note(Extended::Lost, at(5)), Extended::Lost);
        assert_eq!(term.note(Extended::Until(hold_since(6)), at(7)), Extended::Lost);
        term.end(at(8));
        assert_eq!(term.over(at(9)), Some(Over::Lost(Loss::Taken)));
        assert_eq!(term.left(at(9)), Duration::ZERO);
    }

    #[test]
    fn an_intrusion_is_a_loss_that_leaves_something_to_give_back() {
        let mut term = LeaseState::new(hold_since(0));
        assert_eq!(term.note(Extended::Intruded(hold_since(300)), at(310)), Extended::Intruded(hold_since(300)));
        assert_eq!(term.over(at(311)), Some(Over::Lost(Loss::Intruded)));
        assert_eq!(term.left(at(311)), Duration::ZERO);
        assert_eq!(*term.hold(), hold_since(300), "what was written last is what is to be given back");
    }

    #[test]
    fn a_watcher_is_warned_when_no_more_than_the_margin_remains() {
        let margin = Duration::from_millis(200);
        let mut state = LeaseState::new(hold_since(0));
        assert_eq!(state.watch_for_end(margin, at(700)), Watched::In(Duration::from_millis(88)));
        assert_eq!(state.watch_for_end(margin, at(788)), Watched::Known(Some(margin)));
        assert_eq!(state.watch_for_end(margin, at(2000)), Watched::Known(Some(Duration::ZERO)));
        state.note(Extended::Until(hold_since(700)), at(710));
        assert_eq!(state.watch_for_end(margin, at(788)), Watched::In(Duration::from_millis(700)), "renewed");
        state.end(at(800));
        assert_eq!(state.watch_for_end(margin, at(2000)), Watched::Known(None), "released in time");
    }

    #[test]
    fn what_was_given_back_in_time_is_never_lost() {
        let mut term = LeaseState::new(hold_since(0));
        term.end(at(5));
        assert_eq!(term.over(at(5000)), Some(Over::Ended));
    }
}
