//! A stamp as a number: which moment it names, in which unit, counted from whose clock.

use core::fmt;
use core::time::Duration;

use lockshift_wire::UnixTime;

use super::Digits;
use crate::Number;

/// The number that a dialect writes: its moment, unit, margin and digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// Which moment it names.
    pub moment: Moment,
    /// The unit it counts in.
    pub unit: Unit,
    /// How the clock is rounded before anything is added.
    pub now: Now,
    /// What is added to the end of the lease: the SETNX page's "+ 1", the Java article's second for clock skew.
    pub margin: Duration,
    /// How the number becomes bytes.
    pub digits: Digits,
}

/// Which moment a stamp names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    /// The end of the lease, and the margin.
    Expiry,
    /// The moment of the attempt; readers add their own lease.
    Acquisition,
}

/// The unit of a stamp or of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Seconds since 1970.
    Second,
    /// Milliseconds since 1970.
    Millisecond,
    /// Nanoseconds since 1970.
    Nanosecond,
    /// .NET ticks: 100 ns since the year 1. .NET takes them from local time; here, as on a host set to UTC.
    Tick,
}

/// How the clock is rounded before lease and margin are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Now {
    /// Down to the unit: `time()`, `Time.now.to_i`, `int(time())`, `System.currentTimeMillis()`.
    Floor,
    /// To the nearest unit, halves up: `Math.round(ms / 1000)`.
    Nearest,
    /// A float out of nanoseconds, to which everything else is added as floats: `Time.now.to_f + t` in Ruby,
    /// `time.time() + t` in Python 3.
    Float,
    /// The same out of seconds and microseconds: `time.time() + t` in Python 2, `microtime(true) + t` in PHP.
    MicrosFloat,
    /// Not at all: the sum is exact and is rounded at its end, as with `(Time.now + t + 1).to_f` in Ruby,
    /// `time.Now().Add(t).UnixNano()` in Go, `(long)(ts.TotalSeconds + t + 1 + 0.5)` in C#.
    Exact,
}

/// Whose clock a dialect asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clock {
    /// The host's wall clock.
    Local,
    /// The server's, by TIME.
    Server,
    /// The time since the host was started, which means nothing to other hosts.
    Uptime,
}

impl Stamp {
    /// Whole seconds since 1970 at the end of the lease, in decimal: `time() + lease`.
    pub const SECONDS: Self = Self {
        moment: Moment::Expiry,
        unit: Unit::Second,
        now: Now::Floor,
        margin: Duration::ZERO,
        digits: Digits::Decimal,
    };

    /// Whole milliseconds since 1970 at the end of the lease, in decimal.
    pub const MILLIS: Self = Self { unit: Unit::Millisecond, ..Self::SECONDS };

    /// Seconds since 1970 at the end of the lease, as a float of the given digits.
    pub const fn float_seconds(now: Now, digits: Digits) -> Self {
        Self { now, digits, ..Self::SECONDS }
    }

    /// This stamp, later by `margin`.
    #[must_use]
    pub const fn plus(self, margin: Duration) -> Self {
        Self { margin, ..self }
    }

    /// The number that a client writes if it attempts to acquire at `now`.
    pub fn at(&self, now: UnixTime, lease: Duration) -> Number {
        let (lease, margin) = match self.moment {
            Moment::Expiry => (lease, self.margin),
            Moment::Acquisition => (Duration::ZERO, Duration::ZERO),
        };
        if self.digits.is_float() {
            return Number::Float(match self.now {
                Now::Exact => seconds(after_1970(now) + nanos(lease) + nanos(margin)),
                Now::Floor | Now::Nearest | Now::Float | Now::MicrosFloat => {
                    self.float(now) + lease.as_secs_f64() + margin.as_secs_f64()
                }
            });
        }
        Number::Int(match self.now {
            Now::Floor | Now::Nearest => self.whole(now) + self.unit.ceil(lease) + self.unit.ceil(margin),
            Now::Float | Now::MicrosFloat | Now::Exact => {
                self.unit.floor(after_1970(now) + nanos(lease) + nanos(margin))
            }
        })
    }

    /// The clock as this dialect has it beside a stamp when it compares the two, `earlier` than it really is.
    pub fn now(&self, now: UnixTime, earlier: Duration) -> Number {
        match (self.unit, self.now) {
            (Unit::Second, Now::Float | Now::MicrosFloat | Now::Exact) => {
                Number::Float(self.float(now) - earlier.as_secs_f64())
            }
            _ => Number::Int(self.whole(now) - self.unit.ceil(earlier)),
        }
    }

    /// How long after its own moment a stamp expires for a client whose leases are this long.
    pub fn allowance(&self, lease: Duration) -> Duration {
        match self.moment {
            Moment::Expiry => Duration::ZERO,
            Moment::Acquisition => lease,
        }
    }

    /// The moment on the wall clock that a number names, to the nanosecond or as near as the number comes.
    pub fn moment_of(&self, number: Number) -> UnixTime {
        let unit = self.unit.nanos();
        let nanos = match number {
            Number::Int(count) => count.saturating_sub(self.unit.count_in_1970()).saturating_mul(unit),
            Number::Float(count) => (count * unit as f64) as i128,
        };
        let clamped = nanos.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
        UnixTime::from_nanos(i64::try_from(clamped).expect("clamped to 64 bits"))
    }

    fn whole(&self, now: UnixTime) -> i128 {
        match self.now {
            Now::Nearest => self.unit.floor(after_1970(now) + self.unit.nanos() / 2),
            Now::Floor | Now::Float | Now::MicrosFloat | Now::Exact => self.unit.floor(after_1970(now)),
        }
    }

    /// The clock in seconds, as the language's own floats have it.
    fn float(&self, now: UnixTime) -> f64 {
        match self.now {
            Now::Floor | Now::Nearest => self.whole(now) as f64,
            Now::Float | Now::Exact => seconds(after_1970(now)),
            Now::MicrosFloat => {
                let micros = now.as_nanos().rem_euclid(1_000_000_000) / 1_000;
                now.as_secs() as f64 + micros as f64 * 0.000_001
            }
        }
    }
}

impl Unit {
    /// One of it.
    pub const fn length(self) -> Duration {
        match self {
            Self::Second => Duration::from_secs(1),
            Self::Millisecond => Duration::from_millis(1),
            Self::Nanosecond => Duration::from_nanos(1),
            Self::Tick => Duration::from_nanos(100),
        }
    }

    fn nanos(self) -> i128 {
        nanos(self.length())
    }

    /// What the count was when 1970 began.
    pub const fn count_in_1970(self) -> i128 {
        match self {
            Self::Second | Self::Millisecond | Self::Nanosecond => 0,
            Self::Tick => 621_355_968_000_000_000,
        }
    }

    /// Whole units at this many nanoseconds after 1970, rounded down.
    fn floor(self, after_1970: i128) -> i128 {
        let unit = self.nanos();
        // Nearly all moments fit 64 bits, and divisions of 128 are slow.
        let units = match (i64::try_from(after_1970), i64::try_from(unit)) {
            (Ok(moment), Ok(unit)) => moment.div_euclid(unit).into(),
            (Err(_), _) | (_, Err(_)) => after_1970.div_euclid(unit),
        };
        units + self.count_in_1970()
    }

    /// This length in whole units, rounded up.
    fn ceil(self, length: Duration) -> i128 {
        -(-nanos(length)).div_euclid(self.nanos())
    }
}

/// Nanoseconds as seconds, rounded twice: to a float, and by the division. Ruby and Python do the same.
fn seconds(nanos: i128) -> f64 {
    nanos as f64 / 1e9
}

fn after_1970(moment: UnixTime) -> i128 {
    i128::from(moment.as_nanos())
}

fn nanos(length: Duration) -> i128 {
    i128::try_from(length.as_nanos()).expect("a Duration has fewer than 2^94 nanoseconds")
}

impl fmt::Display for Stamp {
    /// `decimal s, now + lease + 1s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = match self.now {
            Now::Floor | Now::Float | Now::MicrosFloat | Now::Exact => "now",
            Now::Nearest => "nearest now",
        };
        write!(f, "{} {}, {now}", self.digits, self.unit)?;
        match self.moment {
            Moment::Acquisition => Ok(()),
            Moment::Expiry if self.margin.is_zero() => f.write_str(" + lease"),
            Moment::Expiry => write!(f, " + lease + {:?}", self.margin),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Second => "s",
            Self::Millisecond => "ms",
            Self::Nanosecond => "ns",
            Self::Tick => "ticks",
        })
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Local => "local",
            Self::Server => "the server's, by TIME",
            Self::Uptime => "the machine's uptime",
        })
    }
}
