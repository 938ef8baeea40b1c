//! A client: acquires, holds while it asks its guard again and again, and releases; the witness records all of it.

use std::sync::Arc;
use std::time::Duration;

use lockshift::driver::{Answer, Attempt, Wait};
use lockshift::lock::Locker;

use crate::drivers::{Destination, Driver, Held};
use crate::patience::pause;
use crate::witness::{Ending, Event, Outcome, Witness, stamp};

/// A client of a run.
pub(crate) struct Client<'a> {
    pub(crate) number: u32,
    pub(crate) driver: Driver,
    pub(crate) destination: Destination,
    pub(crate) locker: Arc<dyn Locker>,
    pub(crate) witness: &'a Witness,
    /// Receives every event that the witness records.
    pub(crate) on_event: fn(Event),
}

/// How a client behaves while it holds the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stay {
    /// Holds for a fixed time.
    Fixed,
    /// Holds for a fixed time and renews.
    Renewing,
    /// Does not ask its guard until the lease has ended, like a client that was stopped.
    Overrunning,
}

/// How often a holder asks its guard.
const LOOK: Duration = Duration::from_millis(4);

impl Client<'_> {
    /// Connects, tries to acquire, and if it wins holds until `leaves` returns true or it is notified of a loss. Returns the
    /// outcome of the attempt.
    pub(crate) fn visit(&self, wait: &Wait, stay: Stay, drops: bool, mut leaves: impl FnMut() -> bool) -> Outcome {
        let lock = self.driver.lock(&self.destination, Arc::clone(&self.locker));
        let visit = self.witness.begin(self.number, self.locker.mode(), self.locker.lease().length());
        let note = |event| {
            self.witness.note(visit, event);
            (self.on_event)(event);
        };
        note(Event::Attempts(stamp()));
        let attempt = lock.acquire(wait);
        let (outcome, held) = match attempt {
            Ok(Attempt::Won(held)) => (Outcome::Won, Some(held)),
            Ok(Attempt::Held(_) | Attempt::TooLate) => (Outcome::Refused, None),
            Ok(Attempt::Unknown(_)) => (Outcome::Unknown, None),
            Err(_) => (Outcome::Failed, None),
        };
        note(Event::Answered(stamp(), outcome));
        if let Some(mut held) = held {
            if stay == Stay::Renewing {
                held.renew().expect("the renewal thread can be started");
            }
            stay_inside(&*held, stay, self.locker.lease().length(), &note, &mut leaves);
            note(Event::Releases(stamp()));
            let ending = release(held, drops);
            note(Event::Released(stamp(), ending));
        }
        outcome
    }
}

/// Asks the guard again and again. The moment is read before the guard is asked, so that the guard still held at that
/// moment if it confirms.
fn stay_inside(held: &dyn Held, stay: Stay, lease: Duration, note: &impl Fn(Event), leaves: &mut impl FnMut() -> bool) {
    loop {
        let at = stamp();
        if let Some(loss) = held.lost() {
            return note(Event::Lost(stamp(), loss));
        }
        note(Event::Inside(at, held.left()));
        let leaves = leaves();
        match stay {
            Stay::Fixed | Stay::Renewing if leaves => return,
            Stay::Fixed | Stay::Renewing => pause(LOOK),
            // A lock that never ends by itself cannot be overrun.
            Stay::Overrunning if held.left() == Duration::MAX => return,
            Stay::Overrunning => pause(held.left() + lease / 2),
        }
    }
}

fn release(held: Box<dyn Held>, drops: bool) -> Ending {
    if drops {
        drop(held);
        return Ending::Unasked;
    }
    match held.release() {
        Ok(Answer::Known(released)) => Ending::Known(released),
        Ok(Answer::Unknown(_)) => Ending::Unknown,
        Err(_) => Ending::Failed,
    }
}
