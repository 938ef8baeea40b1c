//! The signals that reach this process while it waits for a lock or holds one.
//!
//! They are listened to from before the first command is sent, so that none of them ends the process between acquiring
//! and releasing.

use std::fs;
use std::io;
use std::sync::mpsc::Sender;

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Cause;

use super::Event;

/// The signals that ask a process to end.
const REQUESTS: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// Reports every signal as an event, from a thread of its own, as long as the process lives.
pub(super) fn listen(events: Sender<Event>) -> io::Result<()> {
    let ignored = ignored();
    let heard = REQUESTS.into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0).chain([SIGCHLD]);
    let mut signals = SignalsInfo::<WithOrigin>::new(heard)?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for origin in &mut signals {
            let event = match (origin.signal, origin.cause) {
                (SIGCHLD, _) => Event::ChildChanged,
                // Ctrl-C and its like: the kernel has sent it to the whole foreground group, CMD included.
                (signal, Cause::Kernel) => Event::Asked { signal, child_knows: true },
                (signal, Cause::Unknown | Cause::Sent(_) | Cause::Chld(_)) => {
                    Event::Asked { signal, child_knows: false }
                }
                (signal, _) => Event::Asked { signal, child_knows: false },
            };
            if events.send(event).is_err() {
                break;
            }
        }
    })?;
    Ok(())
}

/// The signals that whoever started us wants ignored, as a bit mask: `nohup` does that, and a shell for its background
/// jobs. They stay ignored. Only Linux tells; elsewhere none counts as ignored.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
