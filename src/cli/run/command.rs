//! The command while it runs: signals are passed on to it, and neither it nor what it starts outlives the lock. Its
//! supervisor, a process of its own, sees to that; this is what `run` sends to it and receives from it.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, getpgrp, kill_process};

use super::events::{RunEvent, RunEvents};
use super::messages::Messages;
use crate::cli::program::this_program;
use crate::cli::run_carrier::RunCarrier;
use crate::cli::signals::{self, Caught, StopRequest};
use crate::cli::supervise::channel::{Grace, Start, SupervisorChannel, SupervisorNote, SupervisorOrder};
use crate::cli::supervise::{become_subreaper, children, kill_descendants};
use crate::driver::blocking::Guard;
use crate::driver::{Loss, host};
use crate::lock::Lease;
use crate::wire::MonoTime;

/// What to do with CMD when the lock is lost, or about to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum OnLost {
    /// End it, before the lease ends: SIGTERM, and SIGKILL after the time of --kill-after
    Kill,
    /// Print a warning, and let it run
    Warn,
}

/// How long the command may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// How it is ended.
    pub(super) grace: Grace,
    /// Whether it may go on without the lock.
    pub(super) on_lost: OnLost,
    /// `None`: as long as it takes.
    pub(super) max_runtime: Option<Duration>,
}

/// Why the command did not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NotRun {
    /// It could not be run: the exit status for that, and the reason.
    Failed { status: u8, reason: String },
    /// It was not started any more: this signal came before, or its time had passed.
    Forestalled { signal: Option<i32> },
}

/// How the command ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CommandOutcome {
    /// Its exit status, or 128 and a signal; `None` if it did not run, or its end is unknown.
    pub(super) status: Option<u8>,
    /// Why it did not run.
    pub(super) not_run: Option<NotRun>,
    /// How the lock was lost before it ended.
    pub(super) lost: Option<Loss>,
    /// It was asked to end because the lease was about to.
    pub(super) ended_early: bool,
    /// It was asked to end because it ran for too long.
    pub(super) timed_out: bool,
}

/// The time that a command gets between SIGTERM and SIGKILL, within a lease.
///
/// # Errors
/// Half of the lease is the most: the lock is renewed after a third of it, and that takes time too.
pub(super) fn grace(lease: Lease, kill_after: Option<Duration>) -> Result<Grace, String> {
    const LONGEST_DEFAULT: Duration = Duration::from_secs(5);
    const LONGEST_MARGIN: Duration = Duration::from_millis(500);
    let length = lease.length();
    let kill_after = kill_after.unwrap_or_else(|| (length / 6).min(LONGEST_DEFAULT));
    if kill_after > length / 2 {
        let [kill_after, lease, most] = [kill_after, length, length / 2].map(humantime::format_duration);
        return Err(format!(
            "--kill-after {kill_after} does not fit into a lease of {lease}: it may be half of the lease, {most}, at most"
        ));
    }
    Ok(Grace { kill_after, margin: (length / 20).min(LONGEST_MARGIN) })
}

/// The command while it runs.
pub(super) struct Running<'a> {
    guard: &'a Guard<RunCarrier>,
    limits: Limits,
    messages: &'a Messages,
    began: MonoTime,
    supervisor: Child,
    channel: SupervisorChannel,
    /// The children that we had before: none of ours.
    before: HashSet<Pid>,
    /// It is in our own process group, which gets the terminal's signals as a whole.
    shares_group: bool,
    /// It runs, and gets what its group gets.
    has_started: bool,
    outcome: CommandOutcome,
}

impl<'a> Running<'a> {
    /// Starts the command. Its supervisor reports through `events`.
    pub(super) fn start(
        command: &[OsString],
        guard: &'a Guard<RunCarrier>,
        limits: Limits,
        messages: &'a Messages,
        events: &RunEvents,
    ) -> io::Result<Self> {
        become_subreaper()?;
        let before = children();
        let (mut channel, reader, socket) = SupervisorChannel::pair()?;
        let mut supervisor = this_program()?;
        supervisor.args(["supervise", "--"]).args(command);
        supervisor.env("LOCKSHIFT_KEY", OsStr::from_bytes(guard.key().as_bytes()));
        match guard.hold().fence {
            Some(fence) => supervisor.env("LOCKSHIFT_FENCE", fence.to_string()),
            // One from around us belongs to another lock.
            None => supervisor.env_remove("LOCKSHIFT_FENCE"),
        };
        // What kills our group, such as a shell's `kill -9 %1`, must leave a process that kills the command.
        let supervisor = signals::spawn(supervisor.stdin(Stdio::from(socket)).process_group(0))?;
        events.read_from(reader)?;
        // On a terminal the command stays in our group. Ctrl-C, Ctrl-Z and `fg` then reach it, us and the rest of a
        // pipeline or script as they would without us.
        let shares_group = File::open("/dev/tty").is_ok();
        let group = shares_group.then(|| getpgrp().as_raw_pid().unsigned_abs());
        let outlives_lock = limits.on_lost == OnLost::Warn;
        channel.send(&SupervisorOrder::Start(Start { group, grace: limits.grace, outlives_lock }));
        let began = host::mono();
        Ok(Self {
            guard,
            limits,
            messages,
            began,
            supervisor,
            channel,
            before,
            shares_group,
            has_started: false,
            outcome: CommandOutcome::default(),
        })
    }

    /// Waits until the command and all that it started have ended.
    pub(super) fn wait(mut self, events: &RunEvents) -> io::Result<CommandOutcome> {
        let mut reported = false;
        loop {
            match events.next(self.left_to_run()) {
                Some(RunEvent::Caught(Caught::Stop(request))) => self.pass_on(request),
                // Perhaps it was stopped. It must not be: continuing one that runs does nothing.
                Some(RunEvent::Caught(Caught::ChildChanged)) => {
                    let _ = kill_process(Pid::from_child(&self.supervisor), Signal::CONT);
                }
                Some(RunEvent::WorkDone) => {}
                Some(RunEvent::Lost(loss)) => self.note_loss(loss),
                Some(RunEvent::Supervisor(Some(note))) => {
                    reported |= is_last(&note);
                    self.note(note);
                }
                Some(RunEvent::Supervisor(None)) => break,
                None => self.end_for_good(),
            }
        }
        let ended = self.supervisor.wait()?;
        if !reported || !ended.success() && self.outcome.not_run.is_none() {
            let key = self.guard.key();
            self.messages
                .warn(format_args!("lock key `{key}`: the supervisor of the command was killed: killing the command"));
        }
        // It has left nothing but daemons, unless it was killed.
        if !ended.success() {
            kill_descendants(&self.before);
        }
        Ok(self.outcome)
    }

    /// How long it may still run; `None` without a limit, or once that has passed.
    fn left_to_run(&self) -> Option<Duration> {
        let max = self.limits.max_runtime.filter(|_| !self.outcome.timed_out)?;
        Some(max.saturating_sub(host::mono().saturating_since(self.began)))
    }

    /// It has run for too long.
    fn end_for_good(&mut self) {
        let key = self.guard.key();
        self.outcome.timed_out = true;
        self.channel.send(&SupervisorOrder::End);
        self.messages.warn(format_args!("lock key `{key}`: the command has run for its maximum time: ending it"));
    }

    fn note(&mut self, note: SupervisorNote) {
        let key = self.guard.key();
        match note {
            SupervisorNote::Ask => {
                let left = self.guard.remaining();
                match self.guard.lost() {
                    None => self.channel.send(&SupervisorOrder::Lease { left }),
                    Some(_) => self.channel.send(&SupervisorOrder::End),
                }
            }
            SupervisorNote::Started => self.has_started = true,
            SupervisorNote::NotRun { status, reason } => self.outcome.not_run = Some(NotRun::Failed { status, reason }),
            SupervisorNote::Forestalled { signal } => self.outcome.not_run = Some(NotRun::Forestalled { signal }),
            SupervisorNote::Ending => {
                self.outcome.ended_early = true;
                if self.outcome.lost.is_none() {
                    self.messages.warn(format_args!("lock key `{key}`: its lease is about to end: ending the command"));
                }
            }
            SupervisorNote::Ended { status, left_running } => {
                self.outcome.status = Some(status);
                if left_running > 0 && self.outcome.lost.is_none() && !self.outcome.ended_early {
                    log::info!("lock key `{key}`: the command has ended, {left_running} of its processes still run");
                }
            }
        }
    }

    /// Does what was asked for in this case.
    fn note_loss(&mut self, loss: Loss) {
        let key = self.guard.key();
        let how = match loss {
            Loss::Taken => "it is not ours any more",
            Loss::Overrun => "its lease ran out before it was renewed",
            Loss::Intruded => "another client has written into it",
        };
        self.outcome.lost = Some(loss);
        if self.limits.on_lost == OnLost::Warn {
            self.messages.warn(format_args!("lock key `{key}` is lost, {how}: the command goes on without it"));
            return;
        }
        self.channel.send(&SupervisorOrder::End);
        self.messages.warn(format_args!("lock key `{key}` is lost, {how}: ending the command"));
    }

    fn pass_on(&mut self, request: StopRequest) {
        if !(request.reached_group && self.shares_group && self.has_started) {
            self.channel.send(&SupervisorOrder::Signal(request.signal));
        }
    }
}

/// Whether the supervisor has nothing to report after this.
fn is_last(note: &SupervisorNote) -> bool {
    match note {
        SupervisorNote::Ended { .. } | SupervisorNote::NotRun { .. } | SupervisorNote::Forestalled { .. } => true,
        SupervisorNote::Ask | SupervisorNote::Started | SupervisorNote::Ending => false,
    }
}
