//! One client of the workload: acquires the lock, works, releases it, and starts again until the run ends.

use std::sync::Arc;
use std::time::Duration;

use redis::ConnectionLike;

use super::command_log::{Deletion, Logged};
use super::error::RunError;
use super::settings::RunClock;
use super::statistics::ClientTotals;
use super::witness::Witness;
use super::workload::HoldEnd;
use crate::driver::blocking::{self, Guard, Lock};
use crate::driver::{Answer, Attempt, Error, host};
use crate::lock::{Locker, Mode, Refusal};
use crate::wire::{MonoTime, Transcript};

/// How long a holder that overruns works past its lease if no other client takes the lock: longer than any dialect's
/// margin and rounding, which add up to 3 s.
const OVERRUN_AT_MOST: Duration = Duration::from_secs(4);

/// How often a holder that overruns checks whether another client has taken the lock.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// One client.
pub(super) struct ComparedClient<'a, C: ConnectionLike + 'static> {
    clock: &'a RunClock<'a>,
    lock: Lock<Logged<C>>,
    locker: Arc<dyn Locker>,
    /// The connection of releases that come after the lease.
    late: Logged<C>,
    /// What was deleted on either connection.
    deletions: [Deletion; 2],
    witness: Witness<C>,
    /// Readers may hold at the same time, and each releases only its own entry.
    is_exclusive: bool,
    totals: ClientTotals,
}

impl<'a, C: ConnectionLike + 'static> ComparedClient<'a, C> {
    pub(super) fn new(
        clock: &'a RunClock<'a>,
        [own, late]: [Logged<C>; 2],
        locker: Arc<dyn Locker>,
        witness: Witness<C>,
    ) -> Self {
        let is_exclusive = locker.mode() == Mode::Exclusive;
        let deletions = [own.deletion(), late.deletion()];
        let lock = Lock::new(own, Arc::clone(&locker));
        let lock = match clock.listener {
            Some(listener) => lock.notified_by(listener),
            None => lock,
        };
        Self { clock, lock, locker, late, deletions, witness, is_exclusive, totals: ClientTotals::default() }
    }

    /// Competes until the run has ended.
    pub(super) fn compete(mut self) -> Result<ClientTotals, RunError> {
        while !self.clock.has_ended() {
            let wanted = host::mono();
            let wait = self.clock.workload.wait.clone().for_at_most(self.clock.left());
            match self.lock.acquire_while(&wait, |attempt, pause| {
                attempt.as_ref().is_ok_and(|attempt| !is_unreadable(attempt)) && self.clock.pause(pause)
            })? {
                Attempt::Won(guard) if self.clock.has_ended() => drop(guard),
                Attempt::Won(guard) => {
                    self.hold(guard, wanted)?;
                    self.rest();
                }
                attempt if is_unreadable(&attempt) => return Err(RunError::Unreadable(self.lock.key().clone())),
                Attempt::Held(_) | Attempt::TooLate => self.totals.waits.push(self.clock.within(wanted, host::mono())),
                Attempt::Unknown(unknown) => return Err(unknown.into()),
            }
        }
        Ok(self.totals)
    }

    fn hold(&mut self, guard: Guard<Logged<C>>, wanted: MonoTime) -> Result<(), RunError> {
        let won = host::mono();
        self.totals.acquisitions += 1;
        self.totals.waits.push(won.saturating_since(wanted));
        self.clock.note_acquisition();
        let is_double = self.witness.enter(guard.hold().since.mono)?;
        self.totals.double_holds += u64::from(is_double && self.is_exclusive);

        let entered = host::mono();
        let ending = self.clock.endings.next();
        self.work(ending, &guard, entered)?;
        let has_endedtaken = self.witness.leave(entered)?;
        self.totals.held += self.clock.within(won, host::mono());
        self.deletions.iter().for_each(Deletion::forget);
        match ending {
            HoldEnd::InTime => release(guard)?,
            HoldEnd::Overrun => self.release_late(guard)?,
            HoldEnd::Crash => guard.abandon(),
        }
        let is_wrong = has_endedtaken && self.deletions.iter().any(Deletion::has_happened);
        self.totals.wrong_releases += u64::from(is_wrong && self.is_exclusive);
        Ok(())
    }

    /// Releases after the lease as the protocol's own clients do. A guard would not: it knows that the lock is lost.
    fn release_late(&mut self, guard: Guard<Logged<C>>) -> Result<(), RunError> {
        let hold = guard.hold();
        guard.abandon();
        let locker = &self.locker;
        let released = blocking::run(&mut self.late, &|redis: &mut Transcript| locker.release(&hold, redis));
        released.map(drop).map_err(|interrupted| Error::because(self.lock.key(), interrupted.cause).into())
    }

    /// Works elsewhere, on average as long as under the lock. A client that tries again at once would acquire before all
    /// that wait for their next attempt.
    fn rest(&self) {
        self.clock.pause(host::jitter(self.clock.workload.hold * 2));
    }

    /// Works under the lock until this hold is to end.
    fn work(&mut self, ending: HoldEnd, guard: &Guard<Logged<C>>, entered: MonoTime) -> Result<(), RunError> {
        let hold = self.clock.workload.hold;
        match ending {
            HoldEnd::InTime | HoldEnd::Crash => {
                self.clock.pause(hold);
            }
            HoldEnd::Overrun => {
                self.overrun(guard, entered)?;
                // Half a hold later the client that took over is still inside: then a wrong release does harm.
                self.clock.pause(hold / 2);
            }
        }
        Ok(())
    }

    /// Works on past the lease until another client has taken the lock.
    fn overrun(&mut self, guard: &Guard<Logged<C>>, entered: MonoTime) -> Result<(), RunError> {
        let until = guard.hold().valid_until().saturating_add(OVERRUN_AT_MOST);
        self.clock.pause(guard.remaining());
        while !self.clock.has_ended() && host::mono() < until {
            if self.witness.overtaken(entered)? {
                break;
            }
            // Often enough to notice while the client that took over is still inside.
            self.clock.pause((self.clock.workload.hold / 4).clamp(Duration::from_millis(1), CHECK_INTERVAL));
        }
        Ok(())
    }
}

fn is_unreadable<G>(attempt: &Attempt<G>) -> bool {
    matches!(attempt, Attempt::Held(held) if held.reason == Refusal::Unreadable)
}

/// Releases. The log records whether Redis deleted a key; the client's own view of the outcome is not used.
fn release<C: ConnectionLike + 'static>(guard: Guard<C>) -> Result<(), RunError> {
    match guard.release()? {
        Answer::Known(_) => Ok(()),
        Answer::Unknown(unknown) => Err(unknown.into()),
    }
}
