//! One client: wants the lock, holds it, gives it back, wants it again, until the run is over.

use std::sync::Arc;
use std::time::Duration;

use redis::ConnectionLike;

use super::course::Track;
use super::figures::Tally;
use super::ledger::{Deletion, Entered};
use super::trouble::Trouble;
use super::witness::Witness;
use super::workload::Ending;
use crate::driver::blocking::{Guard, Lock};
use crate::driver::{Answer, Attempt, host};
use crate::lock::{Locker, Mode, Refusal};
use crate::wire::MonoTime;

/// How far a holder that overruns goes past its lease, where nobody takes the lock from it: longer than any dialect's
/// margin and rounding, which add up to 3 s.
const OVERRUN_AT_MOST: Duration = Duration::from_secs(4);

/// How often, at the least, a holder that overruns looks whether it has been overtaken.
const LOOK: Duration = Duration::from_millis(5);

/// One client.
pub(super) struct Client<'a, C: ConnectionLike + 'static> {
    track: &'a Track<'a>,
    lock: Lock<Entered<C>>,
    deletion: Deletion,
    witness: Witness<C>,
    /// Readers may be inside together, and each takes only its own entry out.
    is_exclusive: bool,
    tally: Tally,
}

impl<'a, C: ConnectionLike + 'static> Client<'a, C> {
    pub(super) fn new(track: &'a Track<'a>, own: Entered<C>, locker: Arc<dyn Locker>, witness: Witness<C>) -> Self {
        let is_exclusive = locker.mode() == Mode::Exclusive;
        let deletion = own.deletion();
        let lock = Lock::new(own, locker);
        let lock = match track.bells {
            Some(bells) => lock.hearing(bells),
            None => lock,
        };
        Self { track, lock, deletion, witness, is_exclusive, tally: Tally::default() }
    }

    /// Competes until the run is over.
    pub(super) fn compete(mut self) -> Result<Tally, Trouble> {
        while !self.track.is_over() {
            let wanted = host::mono();
            let wait = self.track.workload.wait.clone().for_at_most(self.track.left());
            match self.lock.acquire_while(&wait, |attempt, pause| !is_unreadable(attempt) && self.track.pause(pause))? {
                Attempt::Won(guard) if self.track.is_over() => drop(guard),
                Attempt::Won(guard) => {
                    self.hold(guard, wanted)?;
                    self.rest();
                }
                attempt if is_unreadable(&attempt) => return Err(Trouble::Unreadable(self.lock.key().clone())),
                Attempt::Held(_) | Attempt::TooLate => self.tally.waits.push(self.track.within(wanted, host::mono())),
                Attempt::Unknown(unknown) => return Err(unknown.into()),
            }
        }
        Ok(self.tally)
    }

    fn hold(&mut self, guard: Guard<Entered<C>>, wanted: MonoTime) -> Result<(), Trouble> {
        let won = host::mono();
        self.tally.acquisitions += 1;
        self.tally.waits.push(won.saturating_since(wanted));
        self.track.note_acquisition();
        let is_double = self.witness.enter(guard.hold().since.mono)?;
        self.tally.double_holds += u64::from(is_double && self.is_exclusive);

        let entered = host::mono();
        let ending = self.track.endings.next(self.track.workload);
        self.work(ending, &guard, entered)?;
        let is_overtaken = self.witness.leave(entered)?;
        self.tally.held += self.track.within(won, host::mono());
        self.deletion.forget();
        match ending {
            Ending::InTime | Ending::Overrun => release(guard)?,
            Ending::Crash => guard.abandon(),
        }
        let is_wrong = is_overtaken && self.deletion.has_happened();
        self.tally.wrong_releases += u64::from(is_wrong && self.is_exclusive);
        Ok(())
    }

    /// Works elsewhere, on average as long as under the lock: whoever wants it back at once gets it back, past all who
    /// wait for their next try.
    fn rest(&self) {
        self.track.pause(host::jitter(self.track.workload.hold * 2));
    }

    /// Works for as long as this hold is to last.
    fn work(&mut self, ending: Ending, guard: &Guard<Entered<C>>, entered: MonoTime) -> Result<(), Trouble> {
        let hold = self.track.workload.hold;
        match ending {
            Ending::InTime | Ending::Crash => {
                self.track.pause(hold);
            }
            Ending::Overrun => {
                self.overrun(guard, entered)?;
                // Half a hold later whoever took over is still inside: that is when a wrong release does harm.
                self.track.pause(hold / 2);
            }
        }
        Ok(())
    }

    /// Works on past the lease, until somebody has taken over.
    fn overrun(&mut self, guard: &Guard<Entered<C>>, entered: MonoTime) -> Result<(), Trouble> {
        let until = guard.hold().valid_until().saturating_add(OVERRUN_AT_MOST);
        self.track.pause(guard.left());
        while !self.track.is_over() && host::mono() < until {
            if self.witness.overtaken(entered)? {
                break;
            }
            // Often enough to notice while whoever took over is still inside.
            self.track.pause((self.track.workload.hold / 4).clamp(Duration::from_millis(1), LOOK));
        }
        Ok(())
    }
}

fn is_unreadable<G>(attempt: &Attempt<G>) -> bool {
    matches!(attempt, Attempt::Held(held) if held.reason == Refusal::Unreadable)
}

/// How it ended is the client's opinion: the ledger has what Redis said.
fn release<C: ConnectionLike + 'static>(guard: Guard<C>) -> Result<(), Trouble> {
    match guard.release()? {
        Answer::Known(_) => Ok(()),
        Answer::Unknown(unknown) => Err(unknown.into()),
    }
}
