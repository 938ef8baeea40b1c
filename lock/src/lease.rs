//! How long a holder may hold.

use core::time::Duration;

use thiserror::Error;

/// How long a holder may hold: at least a millisecond, at most a hundred years, so that no stamp and no TTL overflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lease(Duration);

impl Lease {
    /// The shortest lease: Redis counts in milliseconds.
    pub const MIN: Duration = Duration::from_millis(1);
    /// The longest lease.
    pub const MAX: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

    /// A lease of this length.
    ///
    /// # Errors
    /// [`LeaseError`] outside [`MIN`](Self::MIN) ..= [`MAX`](Self::MAX).
    pub const fn new(length: Duration) -> Result<Self, LeaseError> {
        if length.as_nanos() < Self::MIN.as_nanos() {
            Err(LeaseError::TooShort(length))
        } else if length.as_nanos() > Self::MAX.as_nanos() {
            Err(LeaseError::TooLong(length))
        } else {
            Ok(Self(length))
        }
    }

    /// Its length.
    pub const fn length(self) -> Duration {
        self.0
    }

    /// This lease in whole units, rounded up: what a dialect that counts in `unit`s can say.
    ///
    /// # Panics
    /// If the unit is zero.
    #[must_use]
    pub fn rounded_up_to(self, unit: Duration) -> Self {
        // A hundred years are fewer than 64 bits of nanoseconds, and 128 take long to divide.
        let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let rounded = nanos(self.0).div_ceil(nanos(unit)).saturating_mul(nanos(unit));
        Self(Duration::from_nanos(rounded).clamp(Self::MIN, Self::MAX))
    }

    /// How far two clocks may drift apart meanwhile, as Redlock's authors reckon: 1 % of the lease and 2 ms.
    ///
    /// A server counts in whole milliseconds, and since 8.0 Redis may remove a key at the beginning of its last one, so that
    /// a key can be gone almost a millisecond before its lease has passed. The 2 ms cover that too.
    pub fn drift(self) -> Duration {
        self.0 / 100 + Duration::from_millis(2)
    }

    /// What a holder may count on: the lease less the drift; zero for leases shorter than that.
    pub fn validity(self) -> Duration {
        self.0.saturating_sub(self.drift())
    }
}

/// A length that is no lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// Shorter than a millisecond: the lock would be over before it is held.
    #[error("a lease of {0:?} is too short: the shortest is 1 ms")]
    TooShort(Duration),
    /// Longer than a hundred years: stamps and TTLs would overflow.
    #[error("a lease of {0:?} is too long: the longest is {max:?}, 100 years of 365 days", max = Lease::MAX)]
    TooLong(Duration),
}
