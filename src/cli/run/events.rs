//! What can happen to `run` from outside: signals, reports of its supervisor, the loss of the lock. One queue for all.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use crate::cli::exit::Failure;
use crate::cli::signals::{self, Caught, StopRequest};
use crate::cli::supervise::channel::{ChannelReader, SupervisorNote};
use crate::driver::blocking::LossWatch;
use crate::driver::{Loss, host};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RunEvent {
    /// A signal came.
    Caught(Caught),
    /// What another thread does for this one is done.
    WorkDone,
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

    /// Does this in a thread of its own; a request to end that comes before it is done leaves it behind.
    pub(super) fn unless_stopped<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<Result<T, StopRequest>> {
        let (hand_over, done) = channel();
        let send = self.send.clone();
        let work = move || {
            let _ = hand_over.send(work());
            let _ = send.send(RunEvent::WorkDone);
        };
        Builder::new().name("lockshift-work".into()).spawn(work)?;
        loop {
            if let Some(RunEvent::Caught(Caught::Stop(request))) = self.next(None) {
                return Ok(Err(request));
            }
            if let Ok(done) = done.try_recv() {
                return Ok(Ok(done));
            }
        }
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

    /// A request to end that comes within this time. What else happens meanwhile is forgotten.
    pub(super) fn request_within(&self, length: Duration) -> Option<StopRequest> {
        let until = host::mono().saturating_add(length);
        loop {
            match self.next(Some(until.saturating_since(host::mono())))? {
                RunEvent::Caught(Caught::Stop(request)) => return Some(request),
                RunEvent::Caught(Caught::ChildChanged)
                | RunEvent::WorkDone
                | RunEvent::Lost(_)
                | RunEvent::Supervisor(_) => {}
            }
        }
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
