//! The signals that ask this process to end, and the news that its child has.
//!
//! Listening begins before the first command is sent, so that no signal ends the process between acquiring and
//! releasing.
//!
//! A thread of their own receives them, and the other threads block them: a signal that a thread handles while it waits for
//! a reply ends that wait (a socket with a time limit is not read again, see signal(7)), and the reply is lost.

use std::fs;
use std::io;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::thread::Builder;

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use signal_hook::consts::{SIGCHLD, SIGHUP};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Cause;

use super::exit::{Exit, Failure};
use super::os_error;

/// What was caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caught {
    /// A request to end.
    Stop(StopRequest),
    /// A child has ended, stopped or gone on.
    ChildChanged,
}

/// A request to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StopRequest {
    /// The signal's number.
    pub(super) signal: i32,
    /// Whether the terminal has sent it to the whole foreground group, children too, as it does with Ctrl-C.
    pub(super) reached_group: bool,
}

impl StopRequest {
    /// The exit status of a process that ends because of it.
    pub(super) fn exit(self) -> Exit {
        exit_of(self.signal)
    }
}

/// The exit status of a process that ends because of this signal.
pub(super) fn exit_of(signal: i32) -> Exit {
    Exit::Of(u8::try_from(128 + signal).unwrap_or(u8::MAX))
}

/// The signals that were blocked when this process began.
static BLOCKED_BEFORE: OnceLock<SigSet> = OnceLock::new();

/// Tells of each signal, from a thread of its own, as long as the process lives. This thread, and those that it starts from
/// now on, are no longer interrupted by one.
pub(super) fn listen(mut tell: impl FnMut(Caught) + Send + 'static) -> Result<(), Failure> {
    let failed =
        |error| Failure::new(Exit::Unusable, format_args!("cannot listen for signals: {}", os_error::sentence(&error)));
    let blocked = SigSet::thread_get_mask().map_err(|error| failed(error.into()))?;
    let ignored = ignored();
    let is_watched = |signal: &Signal| {
        // A child's end is ignored by default.
        *signal == Signal::SIGCHLD || (ignored & (1 << (*signal as i32 - 1)) == 0 && !blocked.contains(*signal))
    };
    let requests = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];
    let watched: Vec<_> = requests.into_iter().chain([Signal::SIGCHLD]).filter(is_watched).collect();
    let mut signals = SignalsInfo::<WithOrigin>::new(watched.iter().map(|signal| *signal as i32)).map_err(failed)?;
    let watched: SigSet = watched.into_iter().collect();
    watched.thread_block().map_err(|error| failed(error.into()))?;
    let _ = BLOCKED_BEFORE.set(blocked);
    let receive = move || {
        watched.thread_unblock().expect("a set of signals that exist");
        for origin in &mut signals {
            tell(match origin.signal {
                SIGCHLD => Caught::ChildChanged,
                signal => {
                    let reached_group = origin.cause == Cause::Kernel && !(signal == SIGHUP && leads_session());
                    Caught::Stop(StopRequest { signal, reached_group })
                }
            });
        }
    };
    Builder::new().name("lockshift-signals".into()).spawn(receive).map(drop).map_err(failed)
}

/// Whether this process leads its session: a terminal that is closed tells so to it alone.
fn leads_session() -> bool {
    rustix::process::getsid(None).is_ok_and(|leader| leader == rustix::process::getpid())
}

/// Starts a process, which receives the signals that this one did when it began.
pub(super) fn spawn(command: &mut Command) -> io::Result<Child> {
    let Some(before) = BLOCKED_BEFORE.get() else { return command.spawn() };
    let now = before.thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    let child = command.spawn();
    now.thread_set_mask()?;
    child
}

/// The signals that are ignored since the process began, as a bit mask: `nohup` does that, and a shell for its background
/// jobs. They stay ignored. Only Linux tells; elsewhere none counts as ignored.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
