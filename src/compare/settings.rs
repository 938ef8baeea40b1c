//! The settings that all runs of one comparison share, and the clock of one run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::stop::CompareStop;
use super::workload::{Endings, Workload};
use crate::driver::blocking::ReleaseListener;
use crate::driver::host;
use crate::wire::MonoTime;

/// The settings that all runs of one comparison share.
pub struct Settings<'a> {
    /// The work that the clients do.
    pub workload: &'a Workload,
    /// Stops the comparison early.
    pub stop: &'a CompareStop,
    /// The release listener that all clients share, as in one program.
    pub listener: Option<&'a ReleaseListener>,
    /// Called ten times a second with the time since the start and the number of acquisitions.
    pub progress: &'a dyn Fn(Duration, u64),
}

/// The clock of one run, shared by its clients.
pub(super) struct RunClock<'a> {
    stop: &'a CompareStop,
    pub(super) workload: &'a Workload,
    pub(super) listener: Option<&'a ReleaseListener>,
    pub(super) endings: Endings,
    began: MonoTime,
    acquisitions: AtomicU64,
}

impl<'a> RunClock<'a> {
    pub(super) fn new(settings: &Settings<'a>) -> Self {
        Self {
            stop: settings.stop,
            workload: settings.workload,
            listener: settings.listener,
            endings: Endings::of(settings.workload),
            began: host::mono(),
            acquisitions: AtomicU64::new(0),
        }
    }

    /// When the run began.
    pub(super) fn began(&self) -> MonoTime {
        self.began
    }

    /// Stops the run early.
    pub(super) fn stop(&self) {
        self.stop.give();
    }

    /// The time that remains of the run.
    pub(super) fn left(&self) -> Duration {
        self.ends_at().saturating_since(host::mono())
    }

    /// Whether the run has ended, by time or because it was stopped.
    pub(super) fn has_ended(&self) -> bool {
        self.stop.is_given() || self.left().is_zero()
    }

    /// Sleeps for `length` or until the end of the run; returns whether the run goes on.
    pub(super) fn pause(&self, length: Duration) -> bool {
        self.stop.pause(length.min(self.left()));
        !self.has_ended()
    }

    /// The part of the time from `from` to `to` that lies within the run.
    pub(super) fn within(&self, from: MonoTime, to: MonoTime) -> Duration {
        to.min(self.ends_at()).saturating_since(from)
    }

    pub(super) fn note_acquisition(&self) {
        self.acquisitions.fetch_add(1, Ordering::Relaxed);
    }

    /// The time since the run began.
    pub(super) fn elapsed(&self) -> Duration {
        host::mono().saturating_since(self.began).min(self.workload.length)
    }

    /// The number of acquisitions so far.
    pub(super) fn acquisitions(&self) -> u64 {
        self.acquisitions.load(Ordering::Relaxed)
    }

    fn ends_at(&self) -> MonoTime {
        self.began.saturating_add(self.workload.length)
    }
}
