//! One client of a period: what it does now.

use std::time::Duration;

use super::workload::Window;
use crate::driver::Patience;
use crate::lock::{Hold, Owner};
use crate::sim::Session;
use crate::wire::Transcript;

/// One client of a period. It does one thing after the other.
pub(super) struct PeriodClient<'a> {
    pub(super) number: u32,
    pub(super) window: Window,
    pub(super) acquisitions: u32,
    pub(super) doing: PeriodActivity<'a>,
}

/// What a client is doing.
pub(super) enum PeriodActivity<'a> {
    /// It rests until it wants the lock again.
    Resting,
    /// It wants the lock.
    Acquiring(PeriodAcquisition<'a>),
    /// It works, and extends its lease if it renews.
    Working { hold: Hold, until: Duration, extending: Option<Transcript> },
    /// It releases the lock.
    Leaving { hold: Hold, transcript: Transcript },
}

/// One acquisition under way, with the pauses between its attempts.
pub(super) struct PeriodAcquisition<'a> {
    pub(super) owner: Owner,
    /// Since when, since the beginning.
    pub(super) since: Duration,
    pub(super) patience: Option<Patience<'a>>,
    pub(super) is_starved: bool,
    /// Whether it pauses between two tries, so that an announced release wakes it.
    pub(super) is_pausing: bool,
    pub(super) listens: bool,
    /// This try so far.
    pub(super) transcript: Transcript,
}

impl PeriodClient<'_> {
    /// The connection over which it listens.
    pub(super) fn listener(&self) -> Session {
        Session(self.number | 1 << 31)
    }
}
