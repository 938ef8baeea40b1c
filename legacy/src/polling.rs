//! The polling `tryLock` of the Java article, which attempts once less often than its caller asks for.
//!
//! Source: Java article, `tryLock(lockSeconds, tryIntervalMillis, maxTryCount)`, the same in all its versions. The loop
//! begins with `if (++tryCount >= maxTryCount) return false`.

use core::time::Duration;

/// The steps of one polling caller, as long as every attempt is refused: attempt, sleep, attempt, sleep, give up.
///
/// ```
/// use core::time::Duration;
/// use lockshift_legacy::{Polling, PollingStep};
///
/// let interval = Duration::from_millis(100);
/// let sleep = PollingStep::Sleep(interval);
/// assert!(Polling::new(interval, 3).eq([PollingStep::Attempt, sleep, PollingStep::Attempt, sleep]), "two, not three");
/// assert!(Polling::new(interval, 1).eq([]), "no attempt at all");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Polling {
    interval: Duration,
    max_try_count: i32,
    try_count: i32,
    slept: bool,
}

/// What a polling caller does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PollingStep {
    /// Attempts to acquire. If that wins or fails with an error, the polling ends: `true`, or `false`.
    Attempt,
    /// Sleeps, also after the last attempt.
    Sleep(Duration),
}

impl Polling {
    /// A caller that passes `max_try_count`, attempts once less often than that, and sleeps `interval` after each refusal.
    pub const fn new(interval: Duration, max_try_count: i32) -> Self {
        Self { interval, max_try_count, try_count: 0, slept: true }
    }
}

/// `None` where the caller gives up.
impl Iterator for Polling {
    type Item = PollingStep;

    fn next(&mut self) -> Option<PollingStep> {
        if !self.slept {
            self.slept = true;
            return Some(PollingStep::Sleep(self.interval));
        }
        self.try_count = self.try_count.saturating_add(1);
        if self.try_count >= self.max_try_count {
            return None;
        }
        self.slept = false;
        Some(PollingStep::Attempt)
    }
}
