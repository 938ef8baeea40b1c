//! The book of one shadow: what was counted, and which questions still wait for an answer. A shadow that owes one for too
//! long is asked nothing more until it has answered, so that a server that hangs costs nobody more than that once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lockshift_wire::{Key, MonoTime};

use super::comparison::Comparison;
use super::tally::Tally;
use crate::driver::events::SHADOW;

/// How long a caller waits for its shadow at most, unless it is told otherwise: longer than the way to a server that is
/// well, and short beside any lease.
pub(in crate::driver) const PATIENCE: Duration = Duration::from_millis(100);

/// What one shadow was asked and has said, on whatever threads.
#[derive(Debug)]
pub(in crate::driver) struct Book {
    key: Key,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    tally: Tally,
    /// When each question began that is still to be answered, in the order in which they began.
    asked: BTreeMap<u64, MonoTime>,
    next: u64,
}

/// Something that the shadow was asked. Dropped without an answer it counts as nothing.
#[derive(Debug)]
pub(in crate::driver) struct Question {
    book: Arc<Book>,
    number: u64,
    due: MonoTime,
}

impl Book {
    /// The empty book of the shadow with this key.
    pub(in crate::driver) fn new(key: Key) -> Self {
        Self { key, entries: Mutex::default() }
    }

    /// What was counted until now.
    pub(in crate::driver) fn tally(&self) -> Tally {
        self.entries().tally
    }

    /// Begins a question, unless the shadow has owed an answer to an earlier one for longer than that: then it is not to
    /// be asked, which counts as failed.
    pub(in crate::driver) fn begin(self: &Arc<Self>, patience: Duration, now: MonoTime) -> Option<Question> {
        let mut entries = self.entries();
        let oldest = entries.asked.first_key_value().map(|(_, since)| *since);
        if oldest.is_some_and(|since| now.saturating_since(since) > patience) {
            drop(entries);
            self.count(Comparison::Failed);
            return None;
        }
        let number = entries.next;
        entries.next += 1;
        entries.asked.insert(number, now);
        Some(Question { book: Arc::clone(self), number, due: now.saturating_add(patience) })
    }

    /// Counts, and logs what is worth a look.
    pub(in crate::driver) fn count(&self, comparison: Comparison) {
        let key = &self.key;
        let mut entries = self.entries();
        let tally = &mut entries.tally;
        *match comparison {
            Comparison::Agreed => &mut tally.agreed,
            Comparison::Doubled => &mut tally.doubled,
            Comparison::Unmatched => &mut tally.unmatched,
            Comparison::Failed => &mut tally.failed,
        } += 1;
        drop(entries);
        match comparison {
            Comparison::Doubled => {
                log::warn!(target: SHADOW, "shadow key `{key}`: another client holds it, and yet the lock was acquired");
            }
            Comparison::Unmatched => {
                log::info!(target: SHADOW, "shadow key `{key}`: it is free, and yet the lock was refused");
            }
            Comparison::Agreed | Comparison::Failed => {}
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // Each change of it is whole by itself.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Question {
    /// Tells it from all others of this shadow.
    pub(in crate::driver) fn number(&self) -> u64 {
        self.number
    }

    /// Counts what came of it, if anything did. What comes too late says nothing about the lock any more.
    pub(in crate::driver) fn answer(self, comparison: Option<Comparison>, now: MonoTime) {
        if now > self.due {
            self.book.count(Comparison::Failed);
        } else if let Some(comparison) = comparison {
            self.book.count(comparison);
        }
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        self.book.entries().asked.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> MonoTime {
        MonoTime::since_origin(Duration::from_millis(millis))
    }

    fn book() -> Arc<Book> {
        Arc::new(Book::new("k".into()))
    }

    #[test]
    fn a_late_shadow_gets_no_order_until_its_answer_has_come() {
        let book = book();
        let first = book.begin(PATIENCE, at(0)).unwrap();
        let second = book.begin(PATIENCE, at(100)).unwrap();
        assert!(book.begin(PATIENCE, at(101)).is_none());
        assert_eq!(book.tally(), Tally { failed: 1, ..Tally::default() });

        second.answer(Some(Comparison::Agreed), at(150));
        assert!(book.begin(PATIENCE, at(160)).is_none(), "the first is still to be answered");
        first.answer(Some(Comparison::Agreed), at(170));
        assert!(book.begin(PATIENCE, at(170)).is_some());
        assert_eq!(book.tally(), Tally { agreed: 1, failed: 3, ..Tally::default() });
    }

    #[test]
    fn a_late_answer_is_ignored() {
        let book = book();
        for comparison in [None, Some(Comparison::Doubled), Some(Comparison::Failed)] {
            book.begin(PATIENCE, at(0)).unwrap().answer(comparison, at(101));
        }
        assert_eq!(book.tally(), Tally { failed: 3, ..Tally::default() });
    }

    #[test]
    fn a_question_that_is_dropped_is_not_waited_for() {
        let book = book();
        drop(book.begin(PATIENCE, at(0)));
        assert!(book.begin(PATIENCE, at(500)).is_some());
        assert_eq!(book.tally(), Tally::default());
    }
}
