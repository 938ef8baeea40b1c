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
    let from = host::wall();
    let answer = question();
    (answer, Between { from, to: host::wall() })
}

impl Between {
    /// PHP's `time()` is the clock of the last tick of the kernel, and a server expires keys by whole milliseconds.
    const TICK: Duration = Duration::from_millis(15);

    /// Whether all of it is certainly before this moment.
    pub(crate) fn is_before(self, moment: UnixTime) -> bool {
        self.to.saturating_add(Duration::from_millis(1)) < moment
    }

    /// Whether all of it is certainly after this moment.
    pub(crate) fn is_after(self, moment: UnixTime) -> bool {
        self.from > moment.saturating_add(Self::TICK)
    }
}
