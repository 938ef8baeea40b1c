//! A signal that stops a run early and ends every pause in it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::driver::host;

/// A signal that stops a run early. It cannot be reset.
#[derive(Debug, Default)]
pub struct CompareStop {
    given: Mutex<bool>,
    changed: Condvar,
}

impl CompareStop {
    /// A signal that has not been given.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the signal.
    pub fn give(&self) {
        *self.given() = true;
        self.changed.notify_all();
    }

    /// Whether it has been given.
    pub fn is_given(&self) -> bool {
        *self.given()
    }

    /// Sleeps for `length`, or until the signal is given.
    pub(super) fn pause(&self, length: Duration) {
        let until = host::mono().saturating_add(length);
        let mut given = self.given();
        loop {
            let left = until.saturating_since(host::mono());
            if *given || left.is_zero() {
                return;
            }
            given = self.changed.wait_timeout(given, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn given(&self) -> MutexGuard<'_, bool> {
        // A bool is valid even after a panic.
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
