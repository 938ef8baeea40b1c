//! A thread that renews one lock.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::carrier::Carrier;
use super::shadow_hold::Held;
use crate::driver::host;
use crate::driver::link::at_once;
use crate::driver::renewal::Renewal;
use crate::driver::watched_lease::WatchedLease;

/// A thread that renews one lock. It sleeps between two extensions and wakes when it is stopped.
pub(super) struct Renewing {
    stop: Sender<()>,
    /// Disconnected when the thread ends. Behind a mutex, so that threads can share what is held; only the last of them stops it.
    ended: Mutex<Receiver<()>>,
    thread: JoinHandle<()>,
}

/// How long an extension may be under way after the lease has ended: a server that hangs is waited for that long by a connection
/// with timeouts. Only a peer that answers byte by byte, or a connection without timeouts, takes longer.
const LONGEST_OVERTIME: Duration = Duration::from_secs(5);

impl Renewing {
    pub(super) fn start<C>(held: Arc<Held<C>>, renewal: Renewal) -> io::Result<Self>
    where
        C: Carrier + Send + 'static,
    {
        let (stop, stopped) = channel();
        let (ending, ended) = channel();
        let thread = Builder::new().name("lockshift-renewal".into()).spawn(move || {
            let _ending: Sender<()> = ending;
            renew(&held, &renewal, &stopped);
        })?;
        Ok(Self { stop, ended: Mutex::new(ended), thread })
    }

    /// Stops, and waits for an extension under way: when this returns `true` no further one is sent. It returns `false` if the
    /// lease has ended and the extension has not.
    pub(super) fn stop(self, lease: &WatchedLease) -> bool {
        drop(self.stop);
        let ended = self.ended.into_inner().unwrap_or_else(PoisonError::into_inner);
        loop {
            let remaining = lease.remaining(host::mono());
            let patience = if remaining.is_zero() { LONGEST_OVERTIME } else { host::nap(remaining) };
            match ended.recv_timeout(patience) {
                Err(RecvTimeoutError::Timeout) if remaining.is_zero() => return false,
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        // It can only have panicked, over a protocol that breaks its contract; the panic has been printed.
        let _ = self.thread.join();
        true
    }
}

fn renew<C: Carrier + 'static>(held: &Held<C>, renewal: &Renewal, stopped: &Receiver<()>) {
    let mut renewing = renewal.begin(host::mono());
    while let Some(pause) = renewing.pause(held.lease.remaining(host::mono()), host::mono()) {
        if is_stopped_within(pause, stopped) {
            return;
        }
        renewing.note(held.key(), &at_once(held.extend()));
    }
}

fn is_stopped_within(pause: Duration, stopped: &Receiver<()>) -> bool {
    let until = host::mono().saturating_add(pause);
    let mut left = pause;
    loop {
        if stopped.recv_timeout(host::nap(left)) != Err(RecvTimeoutError::Timeout) {
            return true;
        }
        left = until.saturating_since(host::mono());
        if left.is_zero() {
            return false;
        }
    }
}

#[test]
fn a_pause_ends_soon_after_the_machine_resumes() {
    let (_stop, stopped) = channel();
    let (event, tells) = channel();
    std::thread::spawn(move || event.send(is_stopped_within(Duration::from_secs(3600), &stopped)));
    host::pretend_suspended_for_ms(7_200_000);
    // Whether the pause had begun before or not: then it goes on, and the next suspend ends it.
    let ended = (0..20).find_map(|_| {
        let ended = tells.recv_timeout(Duration::from_secs(1)).ok();
        host::pretend_suspended_for_ms(7_200_000);
        ended
    });
    assert_eq!(ended, Some(false));
}
