//! From ticks to moments: the clocks of a scene.

use std::time::Duration;

use crate::lock::Lease;
use crate::wire::{MonoTime, Reading, UnixTime};

/// Beyond how many ticks moments need not be distinguished, and by how many they may be moved without a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Horizon {
    pub(super) ticks: u16,
    pub(super) period: u16,
}

/// How ticks are moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timeline {
    /// How long a tick is.
    pub(super) tick: Duration,
    /// The server's wall clock at tick 0.
    pub(super) begin: UnixTime,
}

impl Timeline {
    /// The server's wall clock at a tick.
    pub(super) fn wall(self, tick: u16) -> UnixTime {
        self.begin.saturating_add(self.tick * u32::from(tick))
    }

    /// The server's wall clock so many ticks before the first.
    pub(super) fn before(self, ticks: u16) -> UnixTime {
        let nanos = i64::try_from((self.tick * u32::from(ticks)).as_nanos()).unwrap_or(i64::MAX);
        UnixTime::from_nanos(self.begin.as_nanos().saturating_sub(nanos))
    }

    /// The clocks of a client at a tick, whose wall clock is so many milliseconds ahead.
    pub(super) fn reading(self, tick: u16, skew_ms: i64) -> Reading {
        let wall = skewed(self.wall(tick), skew_ms);
        Reading { wall, mono: MonoTime::since_origin(self.tick * u32::from(tick)) }
    }

    /// A length in ticks, rounded up: the first tick at which a lease has ended that began at tick 0.
    pub(super) fn ticks_of(self, length: Duration) -> u16 {
        u16::try_from(length.as_nanos().div_ceil(self.tick.as_nanos().max(1))).unwrap_or(u16::MAX)
    }

    /// The first tick at which a lease has ended that began at this moment.
    pub(super) fn end_of(self, since: MonoTime, lease: Lease) -> u16 {
        self.ticks_of(since_origin(since).saturating_add(lease.length()))
    }

    /// The first tick that is not before this moment.
    pub(super) fn tick_of(self, moment: MonoTime) -> u16 {
        self.ticks_of(since_origin(moment))
    }
}

/// A wall clock that is so many milliseconds ahead.
pub(super) fn skewed(wall: UnixTime, skew_ms: i64) -> UnixTime {
    UnixTime::from_nanos(wall.as_nanos().saturating_add(skew_ms.saturating_mul(1_000_000)))
}

fn since_origin(moment: MonoTime) -> Duration {
    moment.saturating_since(MonoTime::since_origin(Duration::ZERO))
}
