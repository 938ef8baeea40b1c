//! How long a search may take, by the host's clock.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::driver::host;
use crate::wire::MonoTime;

/// How long a search may take; without a length, as long as it likes.
pub(super) struct TimeBudget {
    began: MonoTime,
    length: Option<Duration>,
    /// When the present share of it ends.
    share_ends: Cell<Option<MonoTime>>,
    is_spent: AtomicBool,
}

impl TimeBudget {
    /// So long from now on.
    pub(super) fn of(length: Option<Duration>) -> Self {
        let budget =
            Self { began: host::mono(), length, share_ends: Cell::new(None), is_spent: AtomicBool::new(false) };
        budget.begin_share(1);
        budget
    }

    /// Of what is left, one of so many equal shares begins now.
    pub(super) fn begin_share(&self, shares: u32) {
        let left = self.length.map(|length| length.saturating_sub(self.elapsed()) / shares.max(1));
        self.share_ends.set(left.map(|left| host::mono().saturating_add(left)));
        self.is_spent.store(false, Ordering::Relaxed);
    }

    /// Looks at the clock.
    pub(super) fn watch(&self) {
        if self.share_ends.get().is_some_and(|end| host::mono() >= end) {
            self.is_spent.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the present share was spent when the clock was last looked at.
    pub(super) fn is_spent(&self) -> &AtomicBool {
        &self.is_spent
    }

    /// How much of it has passed.
    pub(super) fn elapsed(&self) -> Duration {
        host::mono().saturating_since(self.began)
    }
}
