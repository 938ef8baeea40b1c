//! While the lock is held: renew it, run the command, release it.

use std::ffi::OsString;
use std::io;

use super::command::{CommandOutcome, Limits, NotRun, Running};
use super::events::RunEvents;
use super::messages::Messages;
use crate::cli::exit::{Exit, Failure};
use crate::cli::run_carrier::RunCarrier;
use crate::cli::server::ServerChoice;
use crate::cli::{failure, os_error, signals};
use crate::driver::blocking::Guard;
use crate::driver::{Answer, Renewal, host};
use crate::lock::{Extended, Locker, Released};
use crate::report::{self, Ran, whole_millis};
use crate::wire::Transcript;

/// The exit status of a command that took too long, as of timeout(1).
const TIMED_OUT: u8 = 124;

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
        ran.released = Some(self.release(guard, ran));
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
    fn release(&self, guard: Guard<RunCarrier>, ran: &mut Ran) -> report::Released {
        let key = guard.key().clone();
        match guard.release() {
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
                self.messages.warn(format_args!("{unknown}: if the lock was not released, its lease ends it"));
                report::Released::Unknown
            }
            Err(error) => {
                self.messages
                    .warn(format_args!("{error}: the release failed; if the lock is still there, its lease ends it"));
                report::Released::Unknown
            }
        }
    }
}
