//! The old key as a bridge or a guard sees it: how it judges a value that is there, and which values it writes itself.

use std::time::Duration;

use super::fleet::{Clocks, Fleet};
use super::lock::{parts, stamp_writer};
use super::stamp_writer::StampWriter;
use crate::legacy::{Dialect, Looks, Moment};
use crate::lock::Lease;
use crate::wire::{Key, Reading, UnixTime};

/// What a bridge to these dialects, or a guard before them, reads in the old key and writes there.
#[derive(Clone, Debug)]
pub(crate) struct OldKey {
    fleet: Fleet,
    writer: StampWriter,
    skew: Duration,
}

impl OldKey {
    /// Of a bridge to these dialects with this lease, which tolerates this difference of clocks; `None` if they cannot be bridged.
    pub(crate) fn of(dialects: &[&'static Dialect], lease: Lease, skew: Duration) -> Option<Self> {
        let fleet = Fleet::new(dialects, &Key::from("k"), lease);
        let writer = stamp_writer(&fleet, lease).ok()?.tolerating_skew(skew);
        Some(Self { fleet, writer, skew })
    }

    /// How it judges the value of an old client, or its own. It waits for one that it cannot read, until the key is deleted.
    pub(crate) fn looks(&self, value: &[u8], at: Reading) -> Looks {
        self.fleet.looks(value, &Clocks { host: at, server: Some(at.wall) }.behind(self.skew))
    }

    /// Whether it writes such values into the old key.
    pub(crate) fn writes(&self, value: &[u8]) -> bool {
        self.writer.form.matches(value)
    }

    /// Whether it writes such values into the new key, behind a token: they repeat that of the old key.
    pub(crate) fn writes_beside(&self, value: &[u8]) -> bool {
        self.writes(parts(value).1)
    }

    /// The end of the lease by a value that it has written into the old key; `None` if that does not say it.
    pub(crate) fn ends_at(&self, value: &[u8]) -> Option<UnixTime> {
        match self.writer.form.stamp.moment {
            Moment::Expiry => self.writer.moment_in(value),
            Moment::Acquisition => None,
        }
    }
}
