//! A command and all processes that it starts.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group, test_kill_process_group, wait,
};

use super::entry;
use super::processes::{self, Process};

/// A command and all processes that it starts.
pub(super) struct Job {
    command: Pid,
    /// The process group that only they are in, if there is one.
    group: Option<Pid>,
    status: Option<u8>,
}

impl Job {
    /// Starts it, in that process group or in one of its own.
    pub(super) fn start(words: &[OsString], stdin: OwnedFd, group: Option<u32>) -> io::Result<Self> {
        let joined = group.and_then(|group| i32::try_from(group).ok());
        let command = entry::start(words, &stdin, joined.unwrap_or(0))?;
        Ok(Self { command, group: joined.is_none().then_some(command), status: None })
    }

    /// Takes note of all children that have ended, and returns whether there were any. Those of others become ours when their
    /// parents end.
    pub(super) fn reap(&mut self) -> bool {
        let mut has_reaped = false;
        while let Ok(Some((child, status))) = wait(WaitOptions::NOHANG) {
            has_reaped = true;
            if child == self.command {
                self.status = self.status.or(code(status));
            }
        }
        has_reaped
    }

    /// How the command ended: its exit status, or 128 and the number of a signal.
    pub(super) fn status(&self) -> Option<u8> {
        self.status
    }

    /// Whether the command has ended, and with it all that it started. A process that has made a session of its own, as
    /// a daemon does, counts only if it is to be killed, unless it is the command itself.
    ///
    /// A list of processes is not of one moment: it may show that a process has ended, and lack the one that it started just
    /// before. That process, or the last of its ancestors below us, waits to be reaped then: only a list after which there is
    /// nothing to reap is whole.
    pub(super) fn has_ended(&mut self, killing: bool) -> bool {
        while self.status.is_some() {
            let Some(all) = processes::descendants(getpid()) else {
                return self.group.is_none_or(|group| test_kill_process_group(group).is_err());
            };
            if !all.iter().all(|process| !killing && self.is_daemon(process)) {
                return false;
            }
            if !self.reap() {
                return true;
            }
        }
        false
    }

    /// How many processes run.
    pub(super) fn running(&self) -> usize {
        let all = processes::descendants(getpid()).unwrap_or_default();
        all.iter().filter(|process| !self.is_daemon(process)).count()
    }

    /// Sends a signal to all of them but daemons.
    pub(super) fn signal(&self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal) {
            self.send(signal, |process| !self.is_daemon(process));
        }
    }

    /// Asks all of them to end. Those that are stopped are continued, or they could not.
    pub(super) fn terminate(&self) {
        for signal in [Signal::TERM, Signal::CONT] {
            self.send(signal, |_| true);
        }
    }

    /// Kills all of them. One that is just being started may be missed: repeat it until they are gone.
    pub(super) fn kill(&self) {
        self.send(Signal::KILL, |_| true);
    }

    /// Sends a signal to the group at once, and then to every descendant outside of it.
    fn send(&self, signal: Signal, to: impl Fn(&Process) -> bool) {
        if let Some(group) = self.group {
            note(signal, group, kill_process_group(group, signal));
        }
        match processes::descendants(getpid()) {
            Some(all) => {
                for process in all.iter().filter(|process| !self.leads(process) && to(process)) {
                    note(signal, process.pid, kill_process(process.pid, signal));
                }
            }
            // It has not been waited for, so the number is still its own.
            None if self.group.is_none() && self.status.is_none() => {
                note(signal, self.command, kill_process(self.command, signal));
            }
            None => {}
        }
    }

    /// Whether it is in a session that neither we nor the command have begun.
    fn is_daemon(&self, process: &Process) -> bool {
        !self.leads(process)
            && process.session != self.command.as_raw_pid()
            && processes::own_session().is_some_and(|ours| process.session != ours)
    }

    fn leads(&self, process: &Process) -> bool {
        self.group.is_some_and(|group| group.as_raw_pid() == process.group)
    }
}

fn note(signal: Signal, to: Pid, sent: rustix::io::Result<()>) {
    if let Err(error) = sent {
        log::debug!("{signal:?} to {to:?}: {error}");
    }
}

/// The exit status as a shell counts it; `None` for a process that has only stopped.
fn code(status: WaitStatus) -> Option<u8> {
    let code = status.exit_status().or_else(|| Some(128 + status.terminating_signal()?))?;
    Some(u8::try_from(code).unwrap_or(u8::MAX))
}
