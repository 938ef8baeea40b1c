//! What the runs of one comparison have in common, and the clock over one of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::stop::Stop;
use super::workload::{Endings, Workload};
use crate::driver::blocking::ReleaseListener;
use crate::driver::host;
use crate::wire::MonoTime;

/// What the runs of one comparison have in common.
pub struct Course<'a> {
    /// What the clients do.
    pub workload: &'a Workload,
    /// Ends it early.
    pub stop: &'a Stop,
    /// What all clients hear releases with, as in one program that has them all.
    pub bells: Option<&'a ReleaseListener>,
    /// Is told, ten times a second, how long the run has lasted and how often the lock was acquired.
    pub progress: &'a dyn Fn(Duration, u64),
}

/// A run under way, as its clients see it.
pub(super) struct Track<'a> {
    stop: &'a Stop,
    pub(super) workload: &'a Workload,
    pub(super) bells: Option<&'a ReleaseListener>,
    pub(super) endings: Endings,
    began: MonoTime,
    acquisitions: AtomicU64,
}

impl<'a> Track<'a> {
    pub(super) fn new(course: &Course<'a>) -> Self {
        Self {
            stop: course.stop,
            workload: course.workload,
            bells: course.bells,
            endings: Endings::default(),
            began: host::mono(),
            acquisitions: AtomicU64::new(0),
        }
    }

    /// When the run began.
    pub(super) fn began(&self) -> MonoTime {
        self.began
    }

    /// Ends the run early.
    pub(super) fn stop(&self) {
        self.stop.give();
    }

    /// How long the run still lasts.
    pub(super) fn left(&self) -> Duration {
        self.ends_at().saturating_since(host::mono())
    }

    /// Whether the run is over, by time or by the signal.
    pub(super) fn is_over(&self) -> bool {
        self.stop.is_given() || self.left().is_zero()
    }

    /// Lets that much time pass, but not beyond the end: whether the run goes on.
    pub(super) fn pause(&self, length: Duration) -> bool {
        self.stop.pause(length.min(self.left()));
        !self.is_over()
    }

    /// What of the time between these moments lies within the run.
    pub(super) fn within(&self, from: MonoTime, to: MonoTime) -> Duration {
        to.min(self.ends_at()).saturating_since(from)
    }

    pub(super) fn note_acquisition(&self) {
        self.acquisitions.fetch_add(1, Ordering::Relaxed);
    }

    /// How long the run has lasted.
    pub(super) fn elapsed(&self) -> Duration {
        host::mono().saturating_since(self.began).min(self.workload.length)
    }

    /// How often the lock was acquired until now.
    pub(super) fn acquisitions(&self) -> u64 {
        self.acquisitions.load(Ordering::Relaxed)
    }

    fn ends_at(&self) -> MonoTime {
        self.began.saturating_add(self.workload.length)
    }
}
