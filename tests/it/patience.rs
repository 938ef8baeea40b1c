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

/// The wall clock, since 1970: that of a server on this machine, too.
#[expect(clippy::disallowed_methods, reason = "a test compares its clients' log with the server's")]
pub(crate) fn wall() -> Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("it is after 1970")
}

/// The monotonic clock.
#[expect(clippy::disallowed_methods, reason = "a test measures how long the library took")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
