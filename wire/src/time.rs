//! Two clocks that must never be mixed: the wall clock writes stamps, the monotonic clock measures leases.

use core::time::Duration;

/// A moment on the wall clock: nanoseconds since 1970-01-01T00:00:00Z. It can jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixTime {
    nanos: i64,
}

impl UnixTime {
    /// The moment that many nanoseconds after 1970 (before it, if negative).
    pub const fn from_nanos(nanos: i64) -> Self {
        Self { nanos }
    }

    /// The moment that many milliseconds after 1970; `None` beyond the year 2262, where 64 bits of nanoseconds end.
    pub const fn from_millis(millis: i64) -> Option<Self> {
        match millis.checked_mul(1_000_000) {
            Some(nanos) => Some(Self { nanos }),
            None => None,
        }
    }

    /// The moment that many seconds after 1970; `None` beyond the year 2262.
    pub const fn from_secs(secs: i64) -> Option<Self> {
        match secs.checked_mul(1_000_000_000) {
            Some(nanos) => Some(Self { nanos }),
            None => None,
        }
    }

    /// Nanoseconds since 1970.
    pub const fn as_nanos(self) -> i64 {
        self.nanos
    }

    /// Whole milliseconds since 1970, rounded down.
    pub const fn as_millis(self) -> i64 {
        self.nanos.div_euclid(1_000_000)
    }

    /// Whole seconds since 1970, rounded down.
    pub const fn as_secs(self) -> i64 {
        self.nanos.div_euclid(1_000_000_000)
    }

    /// This moment moved later; stops at the end of the representable range.
    pub fn saturating_add(self, by: Duration) -> Self {
        let nanos = i128::from(self.nanos).saturating_add_unsigned(by.as_nanos());
        Self { nanos: i64::try_from(nanos).unwrap_or(i64::MAX) }
    }

    /// This moment moved earlier; stops at the beginning of the representable range.
    pub fn saturating_sub(self, by: Duration) -> Self {
        let nanos = i128::from(self.nanos).saturating_sub_unsigned(by.as_nanos());
        Self { nanos: i64::try_from(nanos).unwrap_or(i64::MIN) }
    }

    /// This moment, moved later to a whole `unit` since 1970; stops at the end of the representable range.
    ///
    /// # Panics
    /// If the unit is zero.
    #[must_use]
    pub fn rounded_up_to(self, unit: Duration) -> Self {
        let unit = i128::try_from(unit.as_nanos()).expect("a Duration has 94 bits of nanoseconds");
        let below = i128::from(self.nanos).div_euclid(unit) * unit;
        let nanos = if below == i128::from(self.nanos) { below } else { below + unit };
        Self { nanos: i64::try_from(nanos).unwrap_or(i64::MAX) }
    }

    /// How long after `earlier` this moment is; zero if it is not after it.
    pub fn saturating_since(self, earlier: Self) -> Duration {
        let nanos = i128::from(self.nanos) - i128::from(earlier.nanos);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
    }
}

/// A moment on one process' monotonic clock: time since an origin of the host's choice. It never jumps, and it means
/// nothing to any other process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonoTime {
    since_origin: Duration,
}

impl MonoTime {
    /// The moment that long after the host's origin.
    pub const fn since_origin(since_origin: Duration) -> Self {
        Self { since_origin }
    }

    /// This moment moved later; stops at the end of the representable range.
    pub fn saturating_add(self, by: Duration) -> Self {
        Self { since_origin: self.since_origin.saturating_add(by) }
    }

    /// How long after `earlier` this moment is; zero if it is not after it.
    pub fn saturating_since(self, earlier: Self) -> Duration {
        self.since_origin.saturating_sub(earlier.since_origin)
    }
}

/// Both clocks, read at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reading {
    /// What the wall clock read: for stamps that other machines will read.
    pub wall: UnixTime,
    /// What the monotonic clock read: for the holder's own lease.
    pub mono: MonoTime,
}
