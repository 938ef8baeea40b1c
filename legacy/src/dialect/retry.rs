//! How long an implementation sleeps between attempts, and how many it makes: data for its driver. An attempt is one
//! [`acquire`](lockshift_lock::Locker::acquire).

use core::fmt;
use core::time::Duration;

/// How an implementation waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Retry {
    /// How long it sleeps after a refused attempt.
    pub pause: Pause,
    /// When it gives up.
    pub limit: Limit,
}

/// How long it sleeps after a refused attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pause {
    /// Not at all.
    None,
    /// Always as long.
    Fixed(Duration),
    /// Longer by `step` each time.
    Growing {
        /// The first sleep.
        first: Duration,
        /// By how much each is longer than the one before.
        step: Duration,
    },
    /// Anything up to this, at random.
    Random {
        /// The longest sleep.
        most: Duration,
    },
    /// At random from n² to (n+1)² ms after the n-th attempt: ServiceStack's `SleepBackOffMultiplier`.
    Squares,
}

/// When it gives up, as its defaults are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Never.
    Never,
    /// After this many attempts.
    Tries(u32),
    /// After this much time.
    Total(Duration),
    /// As its caller says.
    Caller,
}

impl Retry {
    /// One attempt.
    pub const NONE: Self = Self { pause: Pause::None, limit: Limit::Tries(1) };

    /// A sleep of `pause_ms` milliseconds after each attempt, up to `limit`.
    pub const fn every_ms(pause_ms: u64, limit: Limit) -> Self {
        Self { pause: Pause::Fixed(Duration::from_millis(pause_ms)), limit }
    }
}

impl Pause {
    /// The shortest and the longest sleep after the `tries`-th attempt, the first being 1.
    pub fn bounds(self, tries: u32) -> (Duration, Duration) {
        match self {
            Self::None => (Duration::ZERO, Duration::ZERO),
            Self::Fixed(pause) => (pause, pause),
            Self::Growing { first, step } => {
                let pause = first.saturating_add(step.saturating_mul(tries.saturating_sub(1)));
                (pause, pause)
            }
            Self::Random { most } => (Duration::ZERO, most),
            Self::Squares => (square_ms(tries), square_ms(tries.saturating_add(1))),
        }
    }
}

fn square_ms(n: u32) -> Duration {
    Duration::from_millis(u64::from(n) * u64::from(n))
}

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pause, self.limit) {
            (_, Limit::Tries(1)) => f.write_str("none"),
            (pause, limit) => write!(f, "{pause}, {limit}"),
        }
    }
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("at once"),
            Self::Fixed(pause) => write!(f, "every {pause:?}"),
            Self::Growing { first, step } => write!(f, "after {first:?}, then {step:?} more each time"),
            Self::Random { most } => write!(f, "after up to {most:?}"),
            Self::Squares => f.write_str("after n² to (n+1)² ms"),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("for ever"),
            Self::Tries(tries) => write!(f, "{tries} times"),
            Self::Total(total) => write!(f, "for {total:?}"),
            Self::Caller => f.write_str("as its caller says"),
        }
    }
}
