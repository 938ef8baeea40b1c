//! The wall clock, and how far a reading of it can be trusted.

use std::time::Duration;

use lockshift::driver::host;
use lockshift::wire::UnixTime;

/// A moment between two readings of the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Between {
    pub(crate) from: UnixTime,
    pub(crate) to: UnixTime,
}

/// What an answer is, and between which readings it was found.
pub(crate) fn timed<T>(question: impl FnOnce() -> T) -> (T, Between) {
    let from = slowest();
    let answer = question();
    (answer, Between { from, to: host::wall() })
}

/// The wall clock as the slowest of all readers sees it: PHP's `time()` is the kernel's clock at its last tick, which is
/// late by as much as a busy machine delays the tick.
#[cfg(target_os = "linux")]
fn slowest() -> UnixTime {
    let tick = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    UnixTime::from_nanos(tick.tv_sec * 1_000_000_000 + tick.tv_nsec)
}

/// Elsewhere `time()` is as exact as any other reading.
#[cfg(not(target_os = "linux"))]
fn slowest() -> UnixTime {
    host::wall()
}

impl Between {
    /// Whether all of it is certainly before this moment, which a server knows to the millisecond.
    pub(crate) fn is_before(self, moment: UnixTime) -> bool {
        self.to.saturating_add(Duration::from_millis(1)) < moment
    }

    /// Whether all of it is certainly after this moment.
    pub(crate) fn is_after(self, moment: UnixTime) -> bool {
        self.from > moment.saturating_add(Duration::from_millis(1))
    }
}
