//! The polling `tryLock` of the Java article, with the number of tries that it really makes.
//!
//! Source: Java article, `tryLock(lockSeconds, tryIntervalMillis, maxTryCount)`, the same in all its versions. The loop
//! begins with `if (++tryCount >= maxTryCount) return false`.

use core::time::Duration;

/// A polling: try, sleep, try, sleep, and give up.
///
/// ```
/// use core::time::Duration;
/// use lockshift_legacy::clients::{Polling, Step};
///
/// let interval = Duration::from_millis(100);
/// let sleep = Step::Sleep(interval);
/// assert!(Polling::new(interval, 3).eq([Step::Try, sleep, Step::Try, sleep]), "three tries are two");
/// assert!(Polling::new(interval, 1).eq([]), "one try is none");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Polling {
    interval: Duration,
    max_try_count: i32,
    try_count: i32,
    slept: bool,
}

/// What a polling does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Tries. If that wins, or ends with an error, the polling is over: `true`, or `false`.
    Try,
    /// Sleeps, also after the last try.
    Sleep(Duration),
}

impl Polling {
    /// A polling that sleeps `interval` after a try that was refused, and tries one time fewer than it is told.
    pub const fn new(interval: Duration, max_try_count: i32) -> Self {
        Self { interval, max_try_count, try_count: 0, slept: true }
    }
}

/// The steps, as long as every try is refused; then `None`: it gives up.
impl Iterator for Polling {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if !self.slept {
            self.slept = true;
            return Some(Step::Sleep(self.interval));
        }
        self.try_count = self.try_count.saturating_add(1);
        if self.try_count >= self.max_try_count {
            return None;
        }
        self.slept = false;
        Some(Step::Try)
    }
}
