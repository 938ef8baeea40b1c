//! How SET is told when the lease ends.

use core::time::Duration;

use lockshift_lock::Lease;
use lockshift_wire::{Expiry, UnixTime};

/// With which option of SET the lease is given.
///
/// `PX` and `EX` count from the moment at which the server runs the command, on the server's clock alone. `PXAT` and
/// `EXAT` name the moment at which the lease ends, by the client's wall clock, and the server compares that with its own.
/// What this buys is that a SET which arrives late makes no longer lock; what it costs is that the lease is only as good
/// as the agreement of the two clocks. Where the server's is ahead by some time, every lease is that much shorter, and
/// one that would be over already is answered with `OK` all the same. So [`TokenLock`](crate::TokenLock) then asks how
/// long the key still lives, two commands more, and the [`Hold`](lockshift_lock::Hold) says no more than that. Where the
/// server's clock is behind, the holder keeps to its lease, and others wait that much longer than they need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Timing {
    /// `PX`: milliseconds from now. Redis 2.6.12.
    #[default]
    Px,
    /// `EX`: seconds from now; the lease is rounded up to whole ones. Redis 2.6.12.
    Ex,
    /// `PXAT`: until a millisecond. Redis 6.2.
    PxAt,
    /// `EXAT`: until a second; the moment is rounded up to a whole one, the lease is not. Redis 6.2.
    ExAt,
}

impl Timing {
    /// The lease as it can be said: in whole milliseconds or seconds, rounded up.
    pub(crate) fn rounded(self, lease: Lease) -> Lease {
        match self {
            Self::Px | Self::PxAt | Self::ExAt => lease.rounded_up_to(Duration::from_millis(1)),
            Self::Ex => lease.rounded_up_to(Duration::from_secs(1)),
        }
    }

    /// The option, for a lease that begins `now`.
    pub(crate) fn expiry(self, lease: Lease, now: UnixTime) -> Expiry {
        match self {
            Self::Px => Expiry::Px(lease.length()),
            Self::Ex => Expiry::Ex(lease.length()),
            Self::PxAt => Expiry::PxAt(now.saturating_add(lease.length())),
            Self::ExAt => Expiry::ExAt(now.saturating_add(lease.length())),
        }
    }

    /// The moment at which the lease ends, where it is one that is told, and so the client's wall clock that decides.
    pub(crate) fn end(self, lease: Lease, now: UnixTime) -> Option<UnixTime> {
        let end = now.saturating_add(lease.length());
        match self {
            Self::Px | Self::Ex => None,
            Self::PxAt => Some(end.rounded_up_to(Duration::from_millis(1))),
            Self::ExAt => Some(end.rounded_up_to(Duration::from_secs(1))),
        }
    }
}
