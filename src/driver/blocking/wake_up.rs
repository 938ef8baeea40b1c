//! What wakes a thread that waits for a release.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::driver::host;
use crate::driver::waiters;

/// What wakes a thread that waits for a release.
#[derive(Debug, Default)]
pub(super) struct WakeUp {
    woken: Mutex<bool>,
    changed: Condvar,
}

impl WakeUp {
    /// Forgets the wake-ups until now.
    pub(super) fn clear(&self) {
        *self.woken() = false;
    }

    /// Waits to be woken, but not longer than that: whether it was.
    pub(super) fn wait(&self, at_most: Duration) -> bool {
        let until = host::mono().saturating_add(at_most);
        let mut woken = self.woken();
        loop {
            let left = until.saturating_since(host::mono());
            if *woken || left.is_zero() {
                return *woken;
            }
            woken = self.changed.wait_timeout(woken, host::nap(left)).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn woken(&self) -> MutexGuard<'_, bool> {
        // A bool is sound after a panic.
        self.woken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl waiters::WakeUp for std::sync::Arc<WakeUp> {
    fn wake(&self) {
        *self.woken() = true;
        self.changed.notify_one();
    }

    fn is_woken(&self) -> bool {
        *self.woken()
    }
}
