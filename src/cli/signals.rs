//! The signals that ask this process to end, and the news that its child has.
//!
//! Listening begins before the first command is sent, so that no signal ends the process between acquiring and
//! releasing.

use std::fs;
use std::thread::Builder;

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
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
    /// Whether it comes from the terminal, as Ctrl-C does: then the whole foreground group has got it, children too.
    pub(super) from_terminal: bool,
}

impl StopRequest {
    /// The exit status of a process that ends because of it.
    pub(super) fn exit(self) -> Exit {
        Exit::Of(u8::try_from(128 + self.signal).unwrap_or(u8::MAX))
    }
}

/// Tells of each signal, from a thread of its own, as long as the process lives.
pub(super) fn listen(mut tell: impl FnMut(Caught) + Send + 'static) -> Result<(), Failure> {
    let ignored = ignored();
    let watched = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
    let failed =
        |error| Failure::new(Exit::Unusable, format_args!("cannot listen for signals: {}", os_error::sentence(&error)));
    let mut signals = SignalsInfo::<WithOrigin>::new(watched.chain([SIGCHLD])).map_err(failed)?;
    let thread = Builder::new().name("lockshift-signals".into()).spawn(move || {
        for origin in &mut signals {
            tell(match origin.signal {
                SIGCHLD => Caught::ChildChanged,
                signal => Caught::Stop(StopRequest { signal, from_terminal: origin.cause == Cause::Kernel }),
            });
        }
    });
    thread.map(drop).map_err(failed)
}

/// The signals that are ignored since the process began, as a bit mask: `nohup` does that, and a shell for its background
/// jobs. They stay ignored. Only Linux tells; elsewhere none counts as ignored.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
