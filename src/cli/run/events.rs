//! What can happen to `run` from outside: signals, reports of its supervisor, the loss of the lock. One queue for all.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use crate::cli::exit::Failure;
use crate::cli::signals::{self, Caught};
use crate::cli::supervise::channel::{ChannelReader, SupervisorNote};
use crate::driver::Loss;
use crate::driver::blocking::LossWatch;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RunEvent {
    /// A signal came.
    Caught(Caught),
    /// The lock is lost.
    Lost(Loss),
    /// The supervisor reports; `None`: it has ended.
    Supervisor(Option<SupervisorNote>),
}

/// The queue of what happens.
pub(super) struct RunEvents {
    send: Sender<RunEvent>,
    queue: Receiver<RunEvent>,
}

impl RunEvents {
    /// Listens to the signals from now on.
    pub(super) fn listen() -> Result<Self, Failure> {
        let (send, queue) = channel();
        let caught = send.clone();
        signals::listen(move |signal| {
            // The queue is not read any more once the process is about to end.
            let _ = caught.send(RunEvent::Caught(signal));
        })?;
        Ok(Self { send, queue })
    }

    /// Listens to the supervisor as well.
    pub(super) fn read_from(&self, reader: ChannelReader) -> io::Result<()> {
        let send = self.send.clone();
        reader.each(move |note| drop(send.send(RunEvent::Supervisor(note))))
    }

    /// Listens to the loss of a lock as well, until it is released.
    pub(super) fn watch(&self, watch: LossWatch) -> io::Result<()> {
        let send = self.send.clone();
        let wait = move || {
            if let Some(loss) = watch.wait() {
                let _ = send.send(RunEvent::Lost(loss));
            }
        };
        Builder::new().name("lockshift-watch".into()).spawn(wait).map(drop)
    }

    /// The next event; `None` if none comes within `patience`, for which `None` means: as long as it takes.
    pub(super) fn next(&self, patience: Option<Duration>) -> Option<RunEvent> {
        let event = match patience {
            None => self.queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(patience) => self.queue.recv_timeout(patience),
        };
        match event {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => unreachable!("we hold a sender ourselves"),
        }
    }
}
