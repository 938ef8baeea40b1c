//! A connection whose peer stops to answer, and that waits for it without a limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use lockshift::driver::Unanswered;
use lockshift::driver::blocking::Carrier;
use lockshift::wire::{Command, NodeReply, Reply};
use redis::Connection;

/// The connection.
pub(super) struct Hanging {
    inner: Connection,
    state: Arc<HangState>,
    end: Receiver<()>,
}

/// When it hangs: from `begin` until this is dropped.
pub(super) struct Hang {
    state: Arc<HangState>,
    _end: Sender<()>,
}

#[derive(Default)]
struct HangState {
    hangs: AtomicBool,
    has_struck: AtomicBool,
}

impl Hanging {
    pub(super) fn over(inner: Connection) -> (Self, Hang) {
        let state = Arc::<HangState>::default();
        let (end, ended) = channel();
        (Self { inner, state: Arc::clone(&state), end: ended }, Hang { state, _end: end })
    }
}

impl Hang {
    pub(super) fn begin(&self) {
        self.state.hangs.store(true, Ordering::SeqCst);
    }

    /// Whether a command is waiting.
    pub(super) fn has_struck(&self) -> bool {
        self.state.has_struck.load(Ordering::SeqCst)
    }
}

impl Carrier for Hanging {
    fn servers(&self) -> usize {
        1
    }

    fn send(&mut self, command: &Command) -> Result<Reply, Unanswered> {
        if self.state.hangs.load(Ordering::SeqCst) {
            self.state.has_struck.store(true, Ordering::SeqCst);
            // Nothing is ever sent.
            let _ = self.end.recv();
        }
        self.inner.send(command)
    }

    fn round(&mut self, _: &[Command]) -> Vec<NodeReply> {
        unreachable!("it is one server")
    }

    fn keeps_its_connection(&self) -> bool {
        true
    }
}
