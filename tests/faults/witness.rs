//! The witness records what each client of a run did and believed, and when, on a clock that no fault touches and that
//! counts while a process is stopped or the machine sleeps. The records are judged after the run.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lockshift::driver::Loss;
use lockshift::lock::{Mode, Released};
use rustix::time::{ClockId, clock_gettime};

/// A moment, as the time since the machine was started.
pub(crate) type Stamp = Duration;

/// The present moment, including suspended time.
pub(crate) fn stamp() -> Stamp {
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    let now = clock_gettime(clock);
    let part = |number: i64| u64::try_from(number).expect("the clock begins at zero");
    Duration::from_secs(part(now.tv_sec)) + Duration::from_nanos(part(now.tv_nsec))
}

/// The records of one run.
#[derive(Debug, Default)]
pub(crate) struct Witness(Mutex<Log>);

/// What was recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// Every attempt, in the order in which they began.
    pub(crate) visits: Vec<Visit>,
    /// When the fault struck, if it did.
    pub(crate) struck: Option<Stamp>,
}

/// One attempt of one client, and the hold that followed if it succeeded.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    pub(crate) client: u32,
    pub(crate) mode: Mode,
    /// The moments before the attempt and after its answer.
    pub(crate) attempted: (Stamp, Stamp),
    pub(crate) outcome: Outcome,
    /// The lease of the lock, as it was acquired.
    pub(crate) lease: Duration,
    /// The first and the last moment at which the guard confirmed that it held.
    pub(crate) inside: Option<(Stamp, Stamp)>,
    /// The end of the lease according to the guard, at the last of these moments.
    pub(crate) until: Stamp,
    /// When the holder was notified of a loss, and of which.
    pub(crate) lost: Option<(Stamp, Loss)>,
    /// When the release began and ended, and how it ended.
    pub(crate) released: Option<(Stamp, Stamp, Ending)>,
}

/// How an acquisition ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Won,
    /// Another client holds it, or the answer came too late.
    Refused,
    /// An error; as far as the driver knows, nothing is left on the server.
    Failed,
    Unknown,
}

/// How a release ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Known(Released),
    Failed,
    Unknown,
    /// The guard was dropped, or its process ended: no holder remains that could be notified of a loss.
    Unasked,
}

/// What happens during a visit, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The attempt begins.
    Attempts(Stamp),
    /// The attempt has ended.
    Answered(Stamp, Outcome),
    /// The guard confirms that it holds, with this time remaining.
    Inside(Stamp, Duration),
    /// The holder is notified of a loss.
    Lost(Stamp, Loss),
    /// The release begins.
    Releases(Stamp),
    /// The release has ended.
    Released(Stamp, Ending),
}

impl Witness {
    /// Adds a visit to the log and returns its index.
    pub(crate) fn begin(&self, client: u32, mode: Mode, lease: Duration) -> usize {
        let visit = Visit {
            client,
            mode,
            attempted: (Duration::MAX, Duration::MAX),
            outcome: Outcome::Unknown,
            lease,
            inside: None,
            until: Duration::ZERO,
            lost: None,
            released: None,
        };
        self.log(|log| {
            log.visits.push(visit);
            log.visits.len() - 1
        })
    }

    /// Records what happens during this visit.
    pub(crate) fn note(&self, visit: usize, event: Event) {
        self.log(|log| log.visits[visit].note(event));
    }

    /// Gives access to the records.
    pub(crate) fn log<T>(&self, look: impl FnOnce(&mut Log) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Visit {
    fn note(&mut self, event: Event) {
        match event {
            Event::Attempts(at) => {
                self.attempted = (at, Duration::MAX);
                self.until = at + self.lease;
            }
            Event::Answered(at, outcome) => {
                self.attempted.1 = at;
                self.outcome = outcome;
            }
            Event::Inside(at, left) => {
                self.inside = Some((self.inside.map_or(at, |(since, _)| since), at));
                // A lock may never end by itself.
                self.until = at.saturating_add(left);
            }
            Event::Lost(at, loss) => self.lost = Some((at, loss)),
            Event::Releases(at) => self.released = Some((at, Duration::MAX, Ending::Unknown)),
            Event::Released(at, ending) => {
                self.released = self.released.map(|(began, ..)| (began, at, ending));
            }
        }
    }
}

impl fmt::Display for Log {
    /// A line for each visit, with milliseconds since the first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = self.visits.iter().map(|visit| visit.attempted.0).min().unwrap_or_default();
        let ms = |at: Stamp| format!("{:.1}", (at.as_secs_f64() - origin.as_secs_f64()) * 1000.0);
        if let Some(struck) = self.struck {
            writeln!(f, "      the fault strikes at {}", ms(struck))?;
        }
        let mut visits: Vec<_> = self.visits.iter().collect();
        visits.sort_by_key(|visit| visit.attempted);
        for visit in visits {
            write!(f, "      client {} attempts {}-{}: ", visit.client, ms(visit.attempted.0), ms(visit.attempted.1))?;
            write!(f, "{:?}", visit.outcome)?;
            if let Some((since, last)) = visit.inside {
                write!(f, ", inside {}-{}, at most until {}", ms(since), ms(last), ms(visit.until))?;
            }
            if let Some((at, loss)) = visit.lost {
                write!(f, ", lost ({loss:?}) at {}", ms(at))?;
            }
            if let Some((since, end, ending)) = visit.released {
                write!(f, ", releases {}-{}: {ending:?}", ms(since), ms(end))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
