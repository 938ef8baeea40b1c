//! How a holder learns that its lock is lost, whatever the server and the connection do meanwhile.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lockshift_lock::Hold;

use crate::driver::host;
use crate::driver::term::{Loss, Over, Term};

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
pub struct Watch(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    term: Mutex<Term>,
    changed: Condvar,
}

impl Watch {
    pub(super) fn new(hold: Hold) -> Self {
        Self(Arc::new(Shared { term: Mutex::new(Term::new(hold)), changed: Condvar::new() }))
    }

    /// How the lock was lost, if it was. What is lost stays lost; what was given back in time never is.
    pub fn lost(&self) -> Option<Loss> {
        loss(self.term().over(host::mono()))
    }

    /// For how long the holder may still work, by its own clock: zero once the lock is lost or given back.
    pub fn left(&self) -> Duration {
        self.term().left(host::mono())
    }

    /// Waits until the lock is lost, and says how, or until it is given back: `None`.
    pub fn wait(&self) -> Option<Loss> {
        let mut term = self.term();
        loop {
            let now = host::mono();
            if let over @ Some(_) = term.over(now) {
                return loss(over);
            }
            let left = term.left(now);
            term = self.0.changed.wait_timeout(term, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// What is held, as of the last confirmation.
    pub(super) fn hold(&self) -> Hold {
        self.term().hold().clone()
    }

    /// Changes the term, and wakes those who wait.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Term) -> T) -> T {
        let outcome = change(&mut self.term());
        self.0.changed.notify_all();
        outcome
    }

    fn term(&self) -> MutexGuard<'_, Term> {
        // A term is changed in one step and so is sound even if somebody panicked.
        self.0.term.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn loss(over: Option<Over>) -> Option<Loss> {
    match over {
        Some(Over::Lost(loss)) => Some(loss),
        Some(Over::Ended) | None => None,
    }
}
