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

use super::yielding::yields_before_sleep;

/// Threads that serve sessions, until this is dropped.
#[derive(Debug)]
pub(super) struct ServingThreads(Vec<ServingThread>);

#[derive(Debug)]
struct ServingThread {
    runtime: Handle,
    /// A copy for each session that it serves.
    sessions: Arc<()>,
    /// The thread ends when this is dropped.
    _end: oneshot::Sender<()>,
}

/// Where one session is served, until this is dropped.
pub(super) struct ServingPlace {
    pub(super) runtime: Handle,
    _session: Option<Arc<()>>,
}

impl ServingThreads {
    /// Starts so many threads.
    pub(super) fn start(threads: NonZero<usize>) -> io::Result<Self> {
        (0..threads.get()).map(ServingThread::start).collect::<io::Result<_>>().map(Self)
    }

    /// The thread with the fewest sessions.
    pub(super) fn least_busy(&self) -> ServingPlace {
        let thread =
            self.0.iter().min_by_key(|thread| Arc::strong_count(&thread.sessions)).expect("there is at least one");
        ServingPlace { runtime: thread.runtime.clone(), _session: Some(Arc::clone(&thread.sessions)) }
    }
}

impl ServingPlace {
    /// The runtime of the caller.
    pub(super) fn here() -> Self {
        Self { runtime: Handle::current(), _session: None }
    }
}

impl ServingThread {
    fn start(number: usize) -> io::Result<Self> {
        let runtime = yields_before_sleep(Builder::new_current_thread().enable_all()).build()?;
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
    fn a_session_goes_to_the_thread_with_the_fewest() {
        let threads = ServingThreads::start(NonZero::new(3).unwrap()).unwrap();
        let mut places: Vec<_> = (0..6).map(|_| threads.least_busy()).collect();
        let sessions = || threads.0.iter().map(|thread| Arc::strong_count(&thread.sessions) - 1).collect::<Vec<_>>();
        assert_eq!(sessions(), [2, 2, 2]);
        let first = places.remove(0).runtime.id();
        drop(places.remove(2));
        assert_eq!(sessions(), [0, 2, 2]);
        assert_eq!(threads.least_busy().runtime.id(), first);
    }

    #[test]
    fn a_serving_thread_runs_what_it_is_given() {
        let threads = ServingThreads::start(NonZero::<usize>::MIN).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let name = move || thread::current().name().map(str::to_owned);
        threads.least_busy().runtime.spawn(async move { sender.send(name()) });
        assert_eq!(receiver.recv().unwrap().as_deref(), Some("lockshift-guard-0"));
    }
}
