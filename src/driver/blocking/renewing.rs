//! A thread that renews one lock.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};

use super::carrier::Carrier;
use super::held_lock::HeldLock;
use crate::driver::host;
use crate::driver::renewal::Renewal;

/// A thread that renews one lock. It sleeps between two extensions and wakes when told to stop.
pub(super) struct Renewing {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Renewing {
    pub(super) fn start<C>(tenancy: Arc<HeldLock<C>>, renewal: Renewal) -> io::Result<Self>
    where
        C: Carrier + Send + 'static,
    {
        let (stop, stopped) = channel();
        let thread =
            Builder::new().name("lockshift-renewal".into()).spawn(move || renew(&tenancy, &renewal, &stopped))?;
        Ok(Self { stop, thread })
    }

    /// Stops, and waits for an extension under way: when this returns no further one is sent.
    pub(super) fn stop(self) {
        drop(self.stop);
        // It can only have panicked, over a protocol that breaks its contract; the panic has been printed.
        let _ = self.thread.join();
    }
}

fn renew<C: Carrier + 'static>(tenancy: &HeldLock<C>, renewal: &Renewal, stopped: &Receiver<()>) {
    let mut course = renewal.begin(host::mono());
    while let Some(pause) = course.pause(tenancy.watch().left(), host::mono()) {
        if stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        course.note(tenancy.key(), &tenancy.extend());
    }
}
