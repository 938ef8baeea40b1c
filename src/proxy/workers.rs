//! Threads that serve sessions.
//!
//! Each has a runtime of its own, and a session stays where it began: what it sends and receives wakes no other thread, and
//! none takes its work over. A runtime that shares its tasks among threads does both for every message.

use std::io;
use std::num::NonZero;
use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// Threads that serve sessions, until this is dropped.
#[derive(Debug)]
pub(super) struct Workers(Vec<Worker>);

#[derive(Debug)]
struct Worker {
    runtime: Handle,
    /// A copy for each session that it serves.
    sessions: Arc<()>,
    /// Its thread ends when this is dropped.
    _end: oneshot::Sender<()>,
}

/// Where one session is served, until this is dropped.
pub(super) struct Workplace {
    pub(super) runtime: Handle,
    _session: Option<Arc<()>>,
}

impl Workers {
    /// Starts so many threads.
    pub(super) fn start(threads: NonZero<usize>) -> io::Result<Self> {
        (0..threads.get()).map(Worker::start).collect::<io::Result<_>>().map(Self)
    }

    /// The worker with the fewest sessions.
    pub(super) fn least_busy(&self) -> Workplace {
        let worker =
            self.0.iter().min_by_key(|worker| Arc::strong_count(&worker.sessions)).expect("there is at least one");
        Workplace { runtime: worker.runtime.clone(), _session: Some(Arc::clone(&worker.sessions)) }
    }
}

impl Workplace {
    /// The runtime of the caller.
    pub(super) fn here() -> Self {
        Self { runtime: Handle::current(), _session: None }
    }
}

impl Worker {
    fn start(number: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel::<()>();
        let serve = move || drop(runtime.block_on(ended));
        thread::Builder::new().name(format!("lockshift-guard-{number}")).spawn(serve)?;
        Ok(Self { runtime: handle, sessions: Arc::default(), _end: end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_goes_to_the_worker_with_the_fewest() {
        let workers = Workers::start(NonZero::new(3).unwrap()).unwrap();
        let mut places: Vec<_> = (0..6).map(|_| workers.least_busy()).collect();
        let sessions = || workers.0.iter().map(|worker| Arc::strong_count(&worker.sessions) - 1).collect::<Vec<_>>();
        assert_eq!(sessions(), [2, 2, 2]);
        let first = places.remove(0).runtime.id();
        drop(places.remove(2));
        assert_eq!(sessions(), [0, 2, 2]);
        assert_eq!(workers.least_busy().runtime.id(), first);
    }

    #[test]
    fn a_worker_runs_what_it_is_given_on_its_own_thread() {
        let workers = Workers::start(NonZero::<usize>::MIN).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let name = move || thread::current().name().map(str::to_owned);
        workers.least_busy().runtime.spawn(async move { sender.send(name()) });
        assert_eq!(receiver.recv().unwrap().as_deref(), Some("lockshift-guard-0"));
    }
}
