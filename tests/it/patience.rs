//! Waiting for something to become true, for a bounded time: the only place of these tests that sleeps.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// Far longer than anything here takes on a busy machine; running out of it is a failure, never a reason to go on.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Asks again until there is an answer; panics with `what` after [`PATIENCE`].
pub(crate) fn until<T>(what: impl Display, mut ask: impl FnMut() -> Option<T>) -> T {
    let started = now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(started.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain: {what}");
        pause(Duration::from_millis(2));
    }
}

/// Lets that much time pass.
#[expect(clippy::disallowed_methods, reason = "a test waits for another process, which has no way to wake it")]
pub(crate) fn pause(length: Duration) {
    std::thread::sleep(length);
}

/// The monotonic clock.
#[expect(clippy::disallowed_methods, reason = "a test measures how long the library took")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
