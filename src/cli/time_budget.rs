//! How long a search may take, by the host's clock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::driver::host;
use crate::wire::MonoTime;

/// How long a search may take; without a length, as long as it likes.
pub(super) struct TimeBudget {
    began: MonoTime,
    length: Option<Duration>,
    is_spent: AtomicBool,
}

impl TimeBudget {
    /// So long from now on.
    pub(super) fn of(length: Option<Duration>) -> Self {
        Self { began: host::mono(), length, is_spent: AtomicBool::new(false) }
    }

    /// Looks at the clock.
    pub(super) fn watch(&self) {
        if self.length.is_some_and(|length| self.elapsed() >= length) {
            self.is_spent.store(true, Ordering::Relaxed);
        }
    }

    /// Whether it was spent when the clock was last looked at.
    pub(super) fn is_spent(&self) -> &AtomicBool {
        &self.is_spent
    }

    /// How much of it has passed.
    pub(super) fn elapsed(&self) -> Duration {
        host::mono().saturating_since(self.began)
    }
}
