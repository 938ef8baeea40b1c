//! When a serving thread yields its core before it sleeps.
//!
//! A thread that sleeps is woken by the first byte that arrives, reads it and sleeps again: while many clients send, most of
//! its time goes to waking. If it yields first, clients and the server run meanwhile, and it finds more of what they have sent
//! at once. But a program that computes keeps a core for milliseconds once it has it, while a thread that slept would have got
//! it back at the next byte. So a thread yields only while it hardly sleeps, and next to such a program nearly never.

use std::cell::Cell;
use std::thread;
use std::time::Duration;

use tokio::runtime::Builder;

use crate::driver::host;
use crate::wire::MonoTime;

/// A thread that was woken sooner is busy.
const SHORT_SLEEP: Duration = Duration::from_micros(100);
/// Clients and the server take less time to send what they have.
const LONG_YIELD: Duration = Duration::from_millis(1);
/// So many short yields make up for a long one.
const SHORT_FOR_LONG: u32 = 4;
/// A thread whose yields are long yields before one sleep in 2^this.
const MOST_RELUCTANCE: u32 = 12;

/// What a thread knows of its sleeps and yields.
#[derive(Clone, Copy, Debug)]
struct Yielding {
    /// Whether its last sleep was short.
    is_busy: bool,
    /// Rises with each long yield, and falls with each short one.
    reluctance: u32,
    /// Before so many sleeps it does not yield.
    sleeps_left: u32,
    slept_at: Option<MonoTime>,
}

thread_local! {
    static OF_THREAD: Cell<Yielding> = const { Cell::new(Yielding::NEW) };
}

/// Lets the threads of a runtime yield before they sleep.
pub(super) fn yields_before_sleep(runtime: &mut Builder) -> &mut Builder {
    runtime.on_thread_park(before_sleep).on_thread_unpark(after_sleep)
}

fn before_sleep() {
    let mut yielding = OF_THREAD.get();
    let mut now = host::mono();
    if yielding.is_due() {
        let began = now;
        thread::yield_now();
        now = host::mono();
        yielding.has_taken(now.saturating_since(began));
    }
    OF_THREAD.set(Yielding { slept_at: Some(now), ..yielding });
}

fn after_sleep() {
    let yielding = OF_THREAD.get();
    let is_busy = yielding.slept_at.is_some_and(|slept_at| host::mono().saturating_since(slept_at) < SHORT_SLEEP);
    OF_THREAD.set(Yielding { is_busy, slept_at: None, ..yielding });
}

impl Yielding {
    const NEW: Self = Self { is_busy: false, reluctance: 0, sleeps_left: 0, slept_at: None };

    /// Whether it yields before this sleep.
    fn is_due(&mut self) -> bool {
        let is_due = self.sleeps_left == 0;
        self.sleeps_left = self.sleeps_left.saturating_sub(1);
        is_due && self.is_busy
    }

    /// A yield has taken this long.
    fn has_taken(&mut self, time: Duration) {
        self.reluctance = match time < LONG_YIELD {
            true => self.reluctance.saturating_sub(1),
            false => (self.reluctance + SHORT_FOR_LONG).min(MOST_RELUCTANCE),
        };
        self.sleeps_left = (1 << self.reluctance) - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_micros(100);
    const LONG: Duration = Duration::from_millis(3);

    /// Before how many of these sleeps it yields, if yields take that long.
    fn yields_before(sleeps: u32, time: impl Fn(u32) -> Duration) -> usize {
        let mut yielding = Yielding { is_busy: true, ..Yielding::NEW };
        let yields = (0..sleeps).filter(|sleep| {
            let is_due = yielding.is_due();
            if is_due {
                yielding.has_taken(time(*sleep));
            }
            is_due
        });
        yields.count()
    }

    #[test]
    fn a_busy_thread_yields_before_each_sleep() {
        assert_eq!(yields_before(10_000, |_| SHORT), 10_000);
    }

    #[test]
    fn a_thread_that_rests_does_not_yield() {
        let mut yielding = Yielding::NEW;
        assert!(!yielding.is_due());
    }

    #[test]
    fn next_to_a_program_that_computes_a_thread_nearly_never_yields() {
        assert!(yields_before(100_000, |_| LONG) < 40);
    }

    #[test]
    fn next_to_one_that_is_away_half_of_the_time_it_nearly_never_does_either() {
        let yields = yields_before(100_000, |sleep| if sleep.is_multiple_of(2) { LONG } else { SHORT });
        assert!(yields < 500, "{yields}");
    }

    #[test]
    fn a_rare_long_yield_changes_little() {
        let yields = yields_before(10_000, |sleep| if sleep.is_multiple_of(500) { LONG } else { SHORT });
        assert!(yields > 9_000, "{yields}");
    }

    #[test]
    fn a_thread_yields_again_when_the_program_has_ended() {
        let yields = yields_before(100_000, |sleep| if sleep < 10_000 { LONG } else { SHORT });
        assert!(yields > 80_000, "{yields}");
    }
}
