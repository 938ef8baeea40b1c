//! CMD while it runs: signals are passed on to it, the loss of the lock ends it.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::news::{Event, News};
use crate::cli::exit::warn;
use crate::cli::signals::{Caught, Request};
use crate::driver::{Loss, host};
use crate::wire::{Key, MonoTime};

/// How long CMD may take to end after SIGTERM, before SIGKILL.
const GRACE: Duration = Duration::from_secs(5);

/// What to do with CMD when the lock is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum OnLost {
    /// End it: SIGTERM, and SIGKILL 5 s later
    Kill,
    /// Say so, and let it run
    Warn,
}

/// CMD while it runs.
pub(super) struct Running<'a> {
    pub(super) child: Child,
    pub(super) key: &'a Key,
    pub(super) on_lost: OnLost,
}

impl Running<'_> {
    /// Waits for its end: its exit status, and whether the lock was lost before.
    pub(super) fn wait(mut self, news: &News) -> io::Result<(u8, bool)> {
        let mut lost = false;
        let mut kill_at: Option<MonoTime> = None;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok((code(status), lost));
            }
            match news.next(kill_at.map(|at| at.saturating_since(host::mono()))) {
                Some(Event::Caught(Caught::ChildChanged)) => {}
                Some(Event::Caught(Caught::Request(request))) => self.pass_on(request),
                Some(Event::Lost(loss)) => {
                    lost = true;
                    kill_at = self.note_loss(loss);
                }
                None => {
                    kill_at = None;
                    self.child.kill()?;
                }
            }
        }
    }

    /// Does what was asked for in this case; when to kill CMD if it does not end.
    fn note_loss(&self, loss: Loss) -> Option<MonoTime> {
        let key = self.key;
        let how = match loss {
            Loss::Taken => "it is not ours any more",
            Loss::Overrun => "its lease ran out before it was renewed",
            Loss::Intruded => "somebody else has written into it",
        };
        match self.on_lost {
            OnLost::Warn => {
                warn(format_args!("lock key `{key}` is lost, {how}: the command goes on without it"));
                None
            }
            OnLost::Kill => {
                warn(format_args!("lock key `{key}` is lost, {how}: ending the command"));
                self.signal(Signal::TERM);
                Some(host::mono().saturating_add(GRACE))
            }
        }
    }

    fn pass_on(&self, request: Request) {
        if !request.from_terminal
            && let Some(signal) = Signal::from_named_raw(request.signal)
        {
            self.signal(signal);
        }
    }

    fn signal(&self, signal: Signal) {
        // It has not been waited for, so the number is still its own; at worst it is a zombie that heeds nothing.
        if let Err(error) = kill_process(Pid::from_child(&self.child), signal) {
            log::debug!("signal {signal:?} to process {}: {error}", self.child.id());
        }
    }
}

/// The exit status as a shell reckons it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
    u8::try_from(code).unwrap_or(u8::MAX)
}
