//! A signal that ends a run before its time, and cuts every pause in it short.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::driver::host;

/// A signal that ends a run before its time. Once given it stays given.
#[derive(Debug, Default)]
pub struct Stop {
    given: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Not given yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives it.
    pub fn give(&self) {
        *self.given() = true;
        self.changed.notify_all();
    }

    /// Whether it has been given.
    pub fn is_given(&self) -> bool {
        *self.given()
    }

    /// Lets that much time pass, less if the signal is given.
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
        // A bool is sound whoever panicked.
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
