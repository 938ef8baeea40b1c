//! While the lock is held: renew it, run the command, release it.

use std::ffi::OsString;
use std::io;
use std::time::Duration;

use super::command::{CommandOutcome, Limits, NotRun, Running};
use super::events::RunEvents;
use super::messages::Messages;
use crate::cli::exit::{Exit, Failure};
use crate::cli::run_carrier::RunCarrier;
use crate::cli::server::ServerChoice;
use crate::cli::{failure, os_error, signals};
use crate::driver::blocking::Guard;
use crate::driver::{Answer, Error, Renewal, host, what_remains};
use crate::lock::{Extended, LateRelease, Locker, Released};
use crate::report::{self, Ran, whole_millis};
use crate::wire::Transcript;

/// The exit status of a command that took too long, as of timeout(1).
const TIMED_OUT: u8 = 124;

/// For how long a release that fails is repeated.
const LONGEST_RELEASE: Duration = Duration::from_secs(5);
/// The pauses in between.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// What to do with the lock.
pub(super) struct Holding<'a> {
    pub(super) server: &'a ServerChoice,
    pub(super) command: &'a [OsString],
    pub(super) limits: Limits,
    pub(super) messages: &'a Messages,
}

impl Holding<'_> {
    /// Runs the command under the lock, and releases it whatever happens.
    pub(super) fn hold(
        &self,
        mut guard: Guard<RunCarrier>,
        locker: &dyn Locker,
        events: &RunEvents,
        ran: &mut Ran,
    ) -> Result<Exit, Failure> {
        self.renew(&mut guard, locker).map_err(|error| failure::of_lock(self.server, &error))?;
        let began = host::mono();
        let outcome = self.run(&guard, events);
        if let Ok(outcome) = &outcome {
            let has_run = outcome.not_run.is_none();
            ran.ran_ms = has_run.then(|| whole_millis(host::mono().saturating_since(began)));
            (ran.status, ran.ended_early) = (outcome.status, outcome.ended_early);
            ran.timed_out = outcome.timed_out;
        }
        // The last moment at which it can have been lost while the command worked.
        ran.lost = guard.lost().is_some();
        ran.released = Some(self.release(guard, locker, events, ran));
        let outcome = outcome.map_err(|error| {
            Failure::new(
                Exit::Unusable,
                format_args!("cannot run the command, for want of system resources: {}", os_error::sentence(&error)),
            )
        })?;
        self.exit(outcome, ran)
    }

    fn exit(&self, outcome: CommandOutcome, ran: &Ran) -> Result<Exit, Failure> {
        match (outcome.not_run, outcome.status) {
            (Some(NotRun::Failed { status, reason }), _) => {
                let program = self.command.first().map(|word| word.display());
                let program = program.map_or_else(String::new, |program| program.to_string());
                Err(Failure::new(Exit::Of(status), format_args!("cannot run `{program}`: {reason}")))
            }
            (_, _) if ran.lost || ran.ended_early => Ok(Exit::Lost),
            (_, _) if ran.timed_out => Ok(Exit::Of(TIMED_OUT)),
            (Some(NotRun::Forestalled { signal: Some(signal) }), _) => Ok(signals::exit_of(signal)),
            (_, Some(status)) => Ok(Exit::Of(status)),
            // Killed with its supervisor.
            (_, None) => Ok(Exit::Unusable),
        }
    }

    /// Renews in the background, if the protocol knows how to.
    fn renew(&self, guard: &mut Guard<RunCarrier>, locker: &dyn Locker) -> Result<(), crate::driver::Error> {
        // Without a reply a protocol gets no further than its first command; one that has none cannot extend.
        if !locker.expires() {
            return Ok(());
        }
        if let Ok(Extended::Unsupported) = locker.extend(&guard.hold(), &mut Transcript::new()) {
            let lease = humantime::format_duration(guard.hold().lease.length());
            self.messages.warn(format_args!("this protocol cannot extend a lock: the command has {lease}"));
            return Ok(());
        }
        guard.renew(Renewal::every_third())
    }

    fn run(&self, guard: &Guard<RunCarrier>, events: &RunEvents) -> io::Result<CommandOutcome> {
        let running = Running::start(self.command, guard, self.limits, self.messages, events)?;
        events.watch(guard.watch())?;
        running.wait(events)
    }

    /// Releases the lock. If it turns out to have been lost before, notes that.
    fn release(
        &self,
        mut guard: Guard<RunCarrier>,
        locker: &dyn Locker,
        events: &RunEvents,
        ran: &mut Ran,
    ) -> report::Released {
        let key = guard.key().clone();
        let lease_ends = locker.expires().then(|| guard.hold().valid_until());
        let (released, is_repeated) = release_patiently(&mut guard, locker, events);
        match released {
            // When it went is not known: an earlier release may have freed it, and its reply was lost.
            Ok(Answer::Known(Released::Lost)) if is_repeated && !ran.lost => {
                self.messages.warn(format_args!(
                    "lock key `{key}`: the first release had no reply or was refused, and a later one found nothing to release"
                ));
                report::Released::Unknown
            }
            Ok(Answer::Known(Released::Freed)) => report::Released::Freed,
            Ok(Answer::Known(Released::LeftAlone)) => report::Released::LeftAlone,
            Ok(Answer::Known(Released::StillHeld)) => report::Released::StillHeld,
            Ok(Answer::Known(Released::Lost)) => {
                if !ran.lost {
                    self.messages.warn(format_args!("lock key `{key}` had been lost before the command ended"));
                }
                ran.lost = true;
                report::Released::Lost
            }
            Ok(Answer::Known(Released::Intruded)) => {
                if !ran.lost {
                    self.messages
                        .warn(format_args!("lock key `{key}`: another client wrote into it while the command ran"));
                }
                ran.lost = true;
                report::Released::Intruded
            }
            Ok(Answer::Unknown(unknown)) => {
                self.messages.warn(format_args!("{unknown}; {}", what_remains(locker.expires())));
                report::Released::Unknown
            }
            Err(error) => {
                let left = lease_ends.map(|ends| ends.saturating_since(host::mono()));
                self.messages.warn(failure::of_release(self.server, &error, left));
                report::Released::Unknown
            }
        }
    }
}

/// Releases the lock, and tries again if that fails and may be repeated: otherwise the lock would stay until its lease ends. A
/// signal means that there is no more time. Returns also whether it was tried again.
fn release_patiently(
    guard: &mut Guard<RunCarrier>,
    locker: &dyn Locker,
    events: &RunEvents,
) -> (Result<Answer<Released>, Error>, bool) {
    let until = host::mono().saturating_add(LONGEST_RELEASE);
    let until = if locker.expires() { until.min(guard.hold().valid_until()) } else { until };
    let (mut is_repeated, mut pause) = (false, FIRST_PAUSE);
    let mut released = guard.try_release();
    while may_be_repeated(&released, locker)
        && host::mono().saturating_add(pause) < until
        && events.request_within(pause).is_none()
    {
        released = guard.try_release();
        is_repeated = true;
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
    (released, is_repeated)
}

/// Whether another release may free the lock, and nothing else: the last one has certainly not run, or one that runs twice does
/// no harm. Where a lock never expires, its release does not compare owners, and may be sent once only.
fn may_be_repeated(released: &Result<Answer<Released>, Error>, locker: &dyn Locker) -> bool {
    match released {
        Ok(Answer::Known(_)) => false,
        Ok(Answer::Unknown(_)) => locker.expires() && locker.late_release() == LateRelease::Harmless,
        Err(error) => error.kind().is_transient(),
    }
}
