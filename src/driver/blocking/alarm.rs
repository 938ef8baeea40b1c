//! What wakes a thread that waits for a release.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::driver::host;
use crate::driver::waiters;

/// What wakes a thread that waits for a release.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Alarm {
    /// Makes it silent.
    pub(super) fn silence(&self) {
        *self.rung() = false;
    }

    /// Waits until it rings, but not longer than that: whether it has rung.
    pub(super) fn wait(&self, at_most: Duration) -> bool {
        let until = host::mono().saturating_add(at_most);
        let mut rung = self.rung();
        loop {
            let left = until.saturating_since(host::mono());
            if *rung || left.is_zero() {
                return *rung;
            }
            rung = self.changed.wait_timeout(rung, host::nap(left)).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn rung(&self) -> MutexGuard<'_, bool> {
        // A bool is sound whoever panicked.
        self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl waiters::Alarm for std::sync::Arc<Alarm> {
    fn ring(&self) {
        *self.rung() = true;
        self.changed.notify_one();
    }

    fn is_rung(&self) -> bool {
        *self.rung()
    }
}
