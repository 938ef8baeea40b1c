//! What wakes a task that waits for a release.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::select;
use tokio::sync::Notify;

use crate::driver::host;
use crate::driver::waiters;

/// What wakes a task that waits for a release.
#[derive(Debug, Default)]
pub(super) struct WakeUp {
    is_woken: AtomicBool,
    changed: Notify,
}

impl WakeUp {
    /// Forgets the wake-ups until now.
    pub(super) fn clear(&self) {
        self.is_woken.store(false, Ordering::SeqCst);
    }

    /// Waits to be woken, but not longer than that.
    pub(super) async fn wait(&self, at_most: Duration) {
        let woken = async {
            // What was notified before may have been cleared since.
            while !self.is_woken.load(Ordering::SeqCst) {
                self.changed.notified().await;
            }
        };
        select! {
            () = woken => {}
            () = host::sleep_async(at_most) => {}
        }
    }
}

impl waiters::WakeUp for Arc<WakeUp> {
    fn wake(&self) {
        self.is_woken.store(true, Ordering::SeqCst);
        // Kept for the next wait, if there is none just now.
        self.changed.notify_one();
    }

    fn is_woken(&self) -> bool {
        self.is_woken.load(Ordering::SeqCst)
    }
}
