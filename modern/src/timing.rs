//! The option of SET that sends the lease.

use core::time::Duration;

use lockshift_lock::Lease;
use lockshift_wire::{Expiry, UnixTime};

/// The option of SET that sends the lease.
///
/// `PX` and `EX` count from the moment at which the server runs the command, on the server's clock alone. `PXAT` and
/// `EXAT` send the moment at which the lease ends, by the client's wall clock, and the server compares it with its own
/// clock. The advantage: a SET that arrives late does not lock for longer. The price: the lease depends on the agreement
/// of the two clocks. If the server's clock is ahead, every lease is shorter by the difference, and the server replies
/// `OK` even to a lease that has already expired. [`TokenLock`](crate::TokenLock) therefore reads the remaining TTL with
/// two more commands and limits the [`Hold`](lockshift_lock::Hold) to it. If the server's clock is behind, the holder
/// keeps to its lease, and waiters wait longer than necessary by the difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
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
    /// No option: the lock lasts until it is released, and a holder that dies leaves it for ever. `redis-py` locks so unless
    /// it is given a timeout.
    None,
}

impl Timing {
    /// The lease at the resolution of the option: in whole milliseconds or seconds, rounded up.
    pub(crate) fn rounded(self, lease: Lease) -> Lease {
        match self {
            Self::Px | Self::PxAt | Self::ExAt | Self::None => lease.rounded_up_to(Duration::from_millis(1)),
            Self::Ex => lease.rounded_up_to(Duration::from_secs(1)),
        }
    }

    /// The option, for a lease that begins `now`; `None` if it is not sent.
    pub(crate) fn expiry(self, lease: Lease, now: UnixTime) -> Option<Expiry> {
        match self {
            Self::Px => Some(Expiry::Px(lease.length())),
            Self::Ex => Some(Expiry::Ex(lease.length())),
            Self::PxAt => Some(Expiry::PxAt(now.saturating_add(lease.length()))),
            Self::ExAt => Some(Expiry::ExAt(now.saturating_add(lease.length()))),
            Self::None => None,
        }
    }

    /// The moment at which the lease ends, if the option sends it as an absolute time by the client's wall clock.
    pub(crate) fn end(self, lease: Lease, now: UnixTime) -> Option<UnixTime> {
        let end = now.saturating_add(lease.length());
        match self {
            Self::Px | Self::Ex | Self::None => None,
            Self::PxAt => Some(end.rounded_up_to(Duration::from_millis(1))),
            Self::ExAt => Some(end.rounded_up_to(Duration::from_secs(1))),
        }
    }
}
