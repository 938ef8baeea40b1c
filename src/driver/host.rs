//! The host: the only place that reads clocks, draws random bits and sleeps. Everything else is handed time and chance
//! as arguments.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lockshift_lock::{Owner, Token};
use lockshift_wire::{MonoTime, Reading, UnixTime};

/// Both clocks.
pub fn reading() -> Reading {
    Reading { wall: wall(), mono: mono() }
}

/// The monotonic clock, since this process first asked. On Linux it stands still while the machine is suspended: a
/// lease that ran out in a laptop's sleep is noticed by the server, not here.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub fn mono() -> MonoTime {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let origin = *ORIGIN.get_or_init(Instant::now);
    MonoTime::since_origin(Instant::now().saturating_duration_since(origin))
}

/// The wall clock.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub fn wall() -> UnixTime {
    let nanos = |span: Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
    UnixTime::from_nanos(match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(after) => nanos(after),
        Err(before) => -nanos(before.duration()),
    })
}

/// A new owner: a token of 128 random bits, this process, and `thread` within it.
///
/// # Errors
/// The system gives no random bits. There is no lock without them: two owners might be the same.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub fn owner(thread: u64) -> Result<Owner, getrandom::Error> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits)?;
    Ok(Owner { token: Token::new(bits), pid: std::process::id(), thread })
}

/// The number of the calling thread: 1, 2, 3 ... in the order in which threads first ask.
pub fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static NUMBER: Cell<u64> = Cell::new(NEXT.fetch_add(1, Ordering::Relaxed)));
    NUMBER.get()
}

/// The number of the calling task, beyond those of all threads, or of the thread where there is no task.
#[cfg(feature = "tokio")]
pub fn task_number() -> u64 {
    const FIRST: u64 = 1 << 62;
    // A task's id is opaque, but it is shown as a number.
    let id = tokio::task::try_id().and_then(|id| id.to_string().parse::<u64>().ok());
    id.map_or_else(thread_number, |id| FIRST | id)
}

/// A random duration, from zero to `most`.
pub fn jitter(most: Duration) -> Duration {
    most.mul_f64(fastrand::f64())
}

/// Blocks the thread that long.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub fn sleep(pause: Duration) {
    std::thread::sleep(pause);
}

/// Suspends the task that long.
#[cfg(feature = "tokio")]
pub async fn sleep_async(pause: Duration) {
    tokio::time::sleep(pause).await;
}
