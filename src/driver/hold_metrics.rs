//! How long one holder stayed, and whether it was put out: counted once each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lockshift_lock::{Extended, Released};
use lockshift_wire::MonoTime;

use super::counters::Counters;

/// One holder's stay.
#[derive(Debug)]
pub(super) struct HoldMetrics {
    counters: Arc<Counters>,
    since: MonoTime,
    is_lost: AtomicBool,
    is_over: AtomicBool,
}

impl HoldMetrics {
    /// It begins now.
    pub(super) fn new(counters: Arc<Counters>, now: MonoTime) -> Self {
        Self { counters, since: now, is_lost: AtomicBool::new(false), is_over: AtomicBool::new(false) }
    }

    /// The lock was lost, during or before its release.
    pub(super) fn note_lost(&self) {
        if !self.is_lost.swap(true, Ordering::Relaxed) {
            self.counters.note_lost();
        }
    }

    /// An extension has ended.
    pub(super) fn note_extended<E>(&self, extended: &Result<Extended, E>) {
        match extended {
            Ok(Extended::Lost) => self.note_lost(),
            Ok(Extended::Intruded(_)) => {
                self.counters.note_intrusion();
                self.note_lost();
            }
            Ok(Extended::Until(_) | Extended::Unsupported) | Err(_) => {}
        }
    }

    /// A release has ended.
    pub(super) fn note_released<E>(&self, released: &Result<Released, E>) {
        match released {
            Ok(Released::Lost) => self.note_lost(),
            Ok(Released::Intruded) => {
                self.counters.note_intrusion();
                self.note_lost();
            }
            Ok(Released::Freed | Released::LeftAlone | Released::StillHeld) | Err(_) => {}
        }
    }

    /// It has ended.
    pub(super) fn end(&self, now: MonoTime) {
        if !self.is_over.swap(true, Ordering::Relaxed) {
            self.counters.note_held(now.saturating_since(self.since));
        }
    }
}

#[test]
fn a_stay_is_counted_once() {
    use std::time::Duration;

    let at = |secs| MonoTime::since_origin(Duration::from_secs(secs));
    let counters = Arc::new(Counters::default());
    let stay = HoldMetrics::new(Arc::clone(&counters), at(5));
    stay.end(at(7));
    stay.note_lost();
    stay.note_lost();
    stay.end(at(9));
    let counted = counters.counted();
    assert_eq!((counted.held, counted.lost), (Duration::from_secs(2), 1));
}
