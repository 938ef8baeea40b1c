//! How a holder learns that its lock is lost, whatever the server and the connection do meanwhile.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lockshift_lock::Hold;

use crate::driver::host;
use crate::driver::lease_state::{LeaseState, Loss, Over};

/// Tells when a lock is lost. Made by [`Guard::watch`](super::Guard::watch); it may be sent to other threads and
/// outlive the guard.
///
/// ```no_run
/// # fn watch(guard: lockshift::driver::blocking::Guard<redis::Connection>) {
/// let watch = guard.watch();
/// std::thread::spawn(move || {
///     if let Some(loss) = watch.wait() {
///         eprintln!("the lock is lost ({loss:?}), stop writing");
///     }
/// });
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct LossWatch(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    watched: Mutex<Watched>,
    changed: Condvar,
}

#[derive(Debug)]
struct Watched {
    term: LeaseState,
    /// How many threads wait. Most locks are given back without any, and waking nobody would still be a system call.
    waiting: usize,
}

impl LossWatch {
    pub(super) fn new(hold: Hold) -> Self {
        let watched = Mutex::new(Watched { term: LeaseState::new(hold), waiting: 0 });
        Self(Arc::new(Shared { watched, changed: Condvar::new() }))
    }

    /// How the lock was lost, if it was. What is lost stays lost; what was given back in time never is.
    pub fn lost(&self) -> Option<Loss> {
        loss(self.watched().term.over(host::mono()))
    }

    /// For how long the holder may still work, by its own clock: zero once the lock is lost or given back.
    pub fn left(&self) -> Duration {
        self.watched().term.left(host::mono())
    }

    /// Waits until the lock is lost, and says how, or until it is given back: `None`.
    pub fn wait(&self) -> Option<Loss> {
        let mut watched = self.watched();
        loop {
            let now = host::mono();
            if let over @ Some(_) = watched.term.over(now) {
                return loss(over);
            }
            let left = watched.term.left(now);
            watched.waiting += 1;
            watched = self.0.changed.wait_timeout(watched, left).unwrap_or_else(PoisonError::into_inner).0;
            watched.waiting -= 1;
        }
    }

    /// What is held, as of the last confirmation.
    pub(super) fn hold(&self) -> Hold {
        self.watched().term.hold().clone()
    }

    /// Ends the term, and says what was held until now.
    pub(super) fn end(&self) -> Hold {
        self.change(|term| {
            term.end(host::mono());
            term.hold().clone()
        })
    }

    /// Changes the term, and wakes those who wait.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut LeaseState) -> T) -> T {
        let mut watched = self.watched();
        let outcome = change(&mut watched.term);
        if watched.waiting > 0 {
            self.0.changed.notify_all();
        }
        outcome
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        // A term is changed in one step and so is sound even if somebody panicked.
        self.0.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn loss(over: Option<Over>) -> Option<Loss> {
    match over {
        Some(Over::Lost(loss)) => Some(loss),
        Some(Over::Ended) | None => None,
    }
}
