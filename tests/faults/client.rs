//! A client: acquires, stays inside and goes by its guard, releases; the witness sees all of it.

use std::sync::Arc;
use std::time::Duration;

use lockshift::driver::{Answer, Attempt, Wait};
use lockshift::lock::Locker;

use crate::drivers::{Driver, Held, Way};
use crate::patience::pause;
use crate::witness::{Ending, Event, Outcome, Witness, stamp};

/// A client of a run.
pub(crate) struct Client<'a> {
    pub(crate) number: u32,
    pub(crate) driver: Driver,
    pub(crate) way: Way,
    pub(crate) locker: Arc<dyn Locker>,
    pub(crate) witness: &'a Witness,
    /// Receives all that the witness notes.
    pub(crate) tells: fn(Event),
}

/// How a client stays inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stay {
    /// For a given time.
    Fixed,
    /// For a given time, renewing.
    Renewing,
    /// Without a look at the guard, until its lease has ended, as a client that was stopped.
    Overrunning,
}

/// How often a holder looks at its guard.
const LOOK: Duration = Duration::from_millis(4);

impl Client<'_> {
    /// Connects, tries for so long, and if it wins stays until `leaves` says so or it learns of a loss: how it ended.
    pub(crate) fn visit(&self, wait: &Wait, stay: Stay, drops: bool, mut leaves: impl FnMut() -> bool) -> Outcome {
        let lock = self.driver.lock(&self.way, Arc::clone(&self.locker));
        let visit = self.witness.begin(self.number, self.locker.mode(), self.locker.lease().length());
        let note = |event| {
            self.witness.note(visit, event);
            (self.tells)(event);
        };
        note(Event::Asks(stamp()));
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
                held.renew().expect("there is a thread for it");
            }
            stay_inside(&*held, stay, self.locker.lease().length(), &note, &mut leaves);
            note(Event::Releases(stamp()));
            let ending = release(held, drops);
            note(Event::Released(stamp(), ending));
        }
        outcome
    }
}

/// Goes by the guard, again and again. That it held at a moment is what it says when it is asked after that moment.
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
