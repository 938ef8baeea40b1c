//! What a winner knows about the lock it holds.

use alloc::vec::Vec;

use lockshift_wire::{MonoTime, Reading, UnixTime};

use crate::Lease;

/// What a winner knows about the lock it holds: enough to extend it, to release it and to know when it expires.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hold {
    /// What stands in Redis for this holder: the value it wrote, or its field in a hash. Only its own protocol reads it.
    pub value: Vec<u8>,
    /// The clocks, read before the first command of the winning try was sent: from here the lease counts.
    pub since: Reading,
    /// For how long.
    pub lease: Lease,
    /// A number that grows with every acquisition, where the protocol hands one out.
    pub fence: Option<u64>,
}

impl Hold {
    /// Until when the holder may work, on its own monotonic clock: the lease from before sending, less the drift.
    pub fn valid_until(&self) -> MonoTime {
        self.since.mono.saturating_add(self.lease.validity())
    }

    /// When the lease ends on the holder's wall clock.
    pub fn ends_at(&self) -> UnixTime {
        self.since.wall.saturating_add(self.lease.length())
    }
}
