//! The state of one shadow: what was counted, and which requests are still unanswered. A shadow that has not answered one for
//! too long gets no more until it has, so that a server that hangs delays only one caller, once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lockshift_wire::{Key, MonoTime};

use super::comparison::ShadowComparison;
use super::summary::ShadowSummary;
use crate::driver::events::SHADOW;

/// How long a caller waits for its shadow at most, by default: longer than a round trip to a healthy server,
/// and short compared with any lease.
pub(in crate::driver) const PATIENCE: Duration = Duration::from_millis(100);

/// The counts and the unanswered requests of one shadow, shared by all threads.
#[derive(Debug)]
pub(in crate::driver) struct ShadowState {
    key: Key,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    summary: ShadowSummary,
    /// When each question began that is still to be answered, in the order in which they began.
    asked: BTreeMap<u64, MonoTime>,
    next: u64,
}

/// Something that the shadow was asked. Dropped without an answer it counts as nothing.
#[derive(Debug)]
pub(in crate::driver) struct Question {
    state: Arc<ShadowState>,
    number: u64,
    due: MonoTime,
}

impl ShadowState {
    /// The state of a new shadow with this key.
    pub(in crate::driver) fn new(key: Key) -> Self {
        Self { key, entries: Mutex::default() }
    }

    /// What was counted until now.
    pub(in crate::driver) fn summary(&self) -> ShadowSummary {
        self.entries().summary
    }

    /// Begins a question, unless the shadow has owed an answer to an earlier one for longer than that: then it is not to
    /// be asked, which counts as failed.
    pub(in crate::driver) fn begin(self: &Arc<Self>, patience: Duration, now: MonoTime) -> Option<Question> {
        let mut entries = self.entries();
        let oldest = entries.asked.first_key_value().map(|(_, since)| *since);
        if oldest.is_some_and(|since| now.saturating_since(since) > patience) {
            drop(entries);
            self.count(ShadowComparison::Failed);
            return None;
        }
        let number = entries.next;
        entries.next += 1;
        entries.asked.insert(number, now);
        Some(Question { state: Arc::clone(self), number, due: now.saturating_add(patience) })
    }

    /// Counts a comparison, and logs a disagreement.
    pub(in crate::driver) fn count(&self, comparison: ShadowComparison) {
        let key = &self.key;
        let mut entries = self.entries();
        let summary = &mut entries.summary;
        *match comparison {
            ShadowComparison::Agreed => &mut summary.agreed,
            ShadowComparison::Doubled => &mut summary.doubled,
            ShadowComparison::Unmatched => &mut summary.unmatched,
            ShadowComparison::Failed => &mut summary.failed,
        } += 1;
        drop(entries);
        match comparison {
            ShadowComparison::Doubled => {
                log::warn!(target: SHADOW, "shadow key `{key}`: another client holds it, and yet the lock was acquired");
            }
            ShadowComparison::Unmatched => {
                log::info!(target: SHADOW, "shadow key `{key}`: it is free, and yet the lock was refused");
            }
            ShadowComparison::Agreed | ShadowComparison::Failed => {}
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // Each change of it is whole by itself.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Question {
    /// Its number, which no other question of this shadow has.
    pub(in crate::driver) fn number(&self) -> u64 {
        self.number
    }

    /// Counts what came of it, if anything did. What comes too late says nothing about the lock any more.
    pub(in crate::driver) fn answer(self, comparison: Option<ShadowComparison>, now: MonoTime) {
        if now > self.due {
            self.state.count(ShadowComparison::Failed);
        } else if let Some(comparison) = comparison {
            self.state.count(comparison);
        }
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        self.state.entries().asked.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> MonoTime {
        MonoTime::since_origin(Duration::from_millis(millis))
    }

    fn state() -> Arc<ShadowState> {
        Arc::new(ShadowState::new("k".into()))
    }

    #[test]
    fn a_late_shadow_gets_no_order_until_its_answer_has_come() {
        let state = state();
        let first = state.begin(PATIENCE, at(0)).unwrap();
        let second = state.begin(PATIENCE, at(100)).unwrap();
        assert!(state.begin(PATIENCE, at(101)).is_none());
        assert_eq!(state.summary(), ShadowSummary { failed: 1, ..ShadowSummary::default() });

        second.answer(Some(ShadowComparison::Agreed), at(150));
        assert!(state.begin(PATIENCE, at(160)).is_none(), "the first is still to be answered");
        first.answer(Some(ShadowComparison::Agreed), at(170));
        assert!(state.begin(PATIENCE, at(170)).is_some());
        assert_eq!(state.summary(), ShadowSummary { agreed: 1, failed: 3, ..ShadowSummary::default() });
    }

    #[test]
    fn a_late_answer_is_ignored() {
        let state = state();
        state.begin(PATIENCE, at(0)).unwrap().answer(None, at(100));
        assert_eq!(state.summary(), ShadowSummary::default(), "in time");
        for comparison in [None, Some(ShadowComparison::Doubled), Some(ShadowComparison::Failed)] {
            state.begin(PATIENCE, at(0)).unwrap().answer(comparison, at(101));
        }
        assert_eq!(state.summary(), ShadowSummary { failed: 3, ..ShadowSummary::default() });
    }

    #[test]
    fn a_question_that_is_dropped_is_not_waited_for() {
        let state = state();
        drop(state.begin(PATIENCE, at(0)));
        assert!(state.begin(PATIENCE, at(500)).is_some());
        assert_eq!(state.summary(), ShadowSummary::default());
    }
}
