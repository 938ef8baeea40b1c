//! The witness: what each client of a run did and believed, and when, on a clock that no fault touches and that counts
//! while a process is stopped or the machine sleeps. It is written while the run goes on and judged afterwards.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lockshift::driver::Loss;
use lockshift::lock::{Mode, Released};
use rustix::time::{ClockId, clock_gettime};

/// A moment, since the machine was started.
pub(crate) type Stamp = Duration;

/// The moment now, suspended time counted.
pub(crate) fn stamp() -> Stamp {
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    let now = clock_gettime(clock);
    let part = |number: i64| u64::try_from(number).expect("the clock begins at zero");
    Duration::from_secs(part(now.tv_sec)) + Duration::from_nanos(part(now.tv_nsec))
}

/// What the witness has seen of one run.
#[derive(Debug, Default)]
pub(crate) struct Witness(Mutex<Log>);

/// What was seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// Every acquisition that was tried, in the order in which they began.
    pub(crate) visits: Vec<Visit>,
    /// When the fault struck, if it did.
    pub(crate) struck: Option<Stamp>,
}

/// One acquisition of one client, and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    pub(crate) client: u32,
    pub(crate) mode: Mode,
    /// From before it was asked for until the answer was there.
    pub(crate) asked: (Stamp, Stamp),
    pub(crate) outcome: Outcome,
    /// The lease of the lock, as it was acquired.
    pub(crate) lease: Duration,
    /// From the first moment to the last at which its holder went by the guard that it held.
    pub(crate) inside: Option<(Stamp, Stamp)>,
    /// Until when, at the last of these moments, its holder could rely on it.
    pub(crate) until: Stamp,
    /// When and how its holder learned of a loss.
    pub(crate) lost: Option<(Stamp, Loss)>,
    /// When it was released, and how that ended.
    pub(crate) released: Option<(Stamp, Stamp, Ending)>,
}

/// How an acquisition ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Won,
    /// Another client holds it, or the answer came too late.
    Refused,
    /// An error: nothing of it is left on the server, as far as the driver can tell.
    Failed,
    Unknown,
}

/// How a release ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Known(Released),
    Failed,
    Unknown,
    /// The guard was dropped, or its process ended: no holder is left to learn of a loss.
    Unasked,
}

/// What happens on a visit, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The lock is asked for from now on.
    Asks(Stamp),
    /// The answer is there.
    Answered(Stamp, Outcome),
    /// The holder goes by its guard, which gives it so long.
    Inside(Stamp, Duration),
    /// The holder learns of a loss.
    Lost(Stamp, Loss),
    /// The release begins.
    Releases(Stamp),
    /// The release has ended.
    Released(Stamp, Ending),
}

impl Witness {
    /// A visit that begins: its place in the log.
    pub(crate) fn begin(&self, client: u32, mode: Mode, lease: Duration) -> usize {
        let visit = Visit {
            client,
            mode,
            asked: (Duration::MAX, Duration::MAX),
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

    /// Notes what happens on this visit.
    pub(crate) fn note(&self, visit: usize, event: Event) {
        self.log(|log| log.visits[visit].note(event));
    }

    /// What was seen.
    pub(crate) fn log<T>(&self, look: impl FnOnce(&mut Log) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Visit {
    fn note(&mut self, event: Event) {
        match event {
            Event::Asks(at) => {
                self.asked = (at, Duration::MAX);
                self.until = at + self.lease;
            }
            Event::Answered(at, outcome) => {
                self.asked.1 = at;
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
    /// A line for each visit, in milliseconds since the first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = self.visits.iter().map(|visit| visit.asked.0).min().unwrap_or_default();
        let ms = |at: Stamp| format!("{:.1}", (at.as_secs_f64() - origin.as_secs_f64()) * 1000.0);
        if let Some(struck) = self.struck {
            writeln!(f, "      the fault strikes at {}", ms(struck))?;
        }
        let mut visits: Vec<_> = self.visits.iter().collect();
        visits.sort_by_key(|visit| visit.asked);
        for visit in visits {
            write!(f, "      client {} asks {}-{}: ", visit.client, ms(visit.asked.0), ms(visit.asked.1))?;
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
