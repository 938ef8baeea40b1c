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
pub(super) struct Alarm {
    is_rung: AtomicBool,
    changed: Notify,
}

impl Alarm {
    /// Makes it silent.
    pub(super) fn silence(&self) {
        self.is_rung.store(false, Ordering::SeqCst);
    }

    /// Waits until it rings, but not longer than that.
    pub(super) async fn wait(&self, at_most: Duration) {
        let rung = async {
            // What was notified before may have been silenced since.
            while !self.is_rung.load(Ordering::SeqCst) {
                self.changed.notified().await;
            }
        };
        select! {
            () = rung => {}
            () = host::sleep_async(at_most) => {}
        }
    }
}

impl waiters::Alarm for Arc<Alarm> {
    fn ring(&self) {
        self.is_rung.store(true, Ordering::SeqCst);
        // Kept for the next who waits, if nobody does just now.
        self.changed.notify_one();
    }

    fn is_rung(&self) -> bool {
        self.is_rung.load(Ordering::SeqCst)
    }
}
