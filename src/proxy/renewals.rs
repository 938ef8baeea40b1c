//! Which locks of a connection the guard extends, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::guard::Note;
use crate::wire::Key;

/// The locks of one connection that are extended.
#[derive(Debug, Default)]
pub(super) struct Renewals {
    /// By database and key.
    locks: BTreeMap<(u32, Key), Renewal>,
    /// The same by database, in the order in which they are due.
    due: BTreeMap<u32, BTreeSet<(Instant, Key)>>,
}

#[derive(Clone, Copy, Debug)]
struct Renewal {
    /// By how much it is extended each time.
    length: Duration,
    next: Instant,
    /// It is not extended after that.
    until: Instant,
}

/// A lock is extended this often in the time for which its client relies on it.
const TIMES_PER_LEASE: u32 = 3;

impl Renewals {
    /// What happened to a lock, which is held for at most this long.
    pub(super) fn note(&mut self, database: u32, key: &Key, note: &Note, most: Duration) {
        let now = Instant::now();
        let next = |length: Duration| now + length / TIMES_PER_LEASE;
        match note {
            Note::Acquired(length) | Note::TookOver(length) => {
                self.enter(database, key, Renewal { length: *length, next: next(*length), until: now + most });
            }
            Note::Extended(length) => {
                if let Some(renewal) = self.take(database, key) {
                    self.enter(database, key, Renewal { length: *length, next: next(*length), ..renewal });
                }
            }
            Note::Released | Note::ReleasedLost | Note::Lost | Note::Withdrawn => self.forget(database, key),
            _ => {}
        }
    }

    /// When the next lock of this database is to be extended.
    pub(super) fn next(&self, database: u32) -> Option<Instant> {
        self.due.get(&database)?.first().map(|(next, _)| *next)
    }

    /// The lock of this database that is to be extended now, and by how much. It is due again after a part of that.
    pub(super) fn take_due(&mut self, database: u32) -> Option<(Key, Duration)> {
        let now = Instant::now();
        while self.next(database)? <= now {
            let (_, key) = self.due.get(&database)?.first().cloned()?;
            let renewal = self.take(database, &key)?;
            if renewal.until > now {
                self.enter(database, &key, Renewal { next: now + renewal.length / TIMES_PER_LEASE, ..renewal });
                // The last extension ends with the maximum.
                return Some((key, renewal.length.min(renewal.until - now)));
            }
        }
        None
    }

    /// Whether this lock is still extended.
    pub(super) fn has(&self, database: u32, key: &Key) -> bool {
        self.locks.get(&(database, key.clone())).is_some_and(|renewal| renewal.until > Instant::now())
    }

    /// The lock is not held any more.
    pub(super) fn forget(&mut self, database: u32, key: &Key) {
        self.take(database, key);
    }

    fn enter(&mut self, database: u32, key: &Key, renewal: Renewal) {
        self.take(database, key);
        self.locks.insert((database, key.clone()), renewal);
        self.due.entry(database).or_default().insert((renewal.next, key.clone()));
    }

    fn take(&mut self, database: u32, key: &Key) -> Option<Renewal> {
        let renewal = self.locks.remove(&(database, key.clone()))?;
        if let Some(due) = self.due.get_mut(&database) {
            due.remove(&(renewal.next, key.clone()));
        }
        Some(renewal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn acquired(renewals: &mut Renewals, key: &str, length: Duration, most: Duration) {
        renewals.note(0, &Key::from(key), &Note::Acquired(length), most);
    }

    #[test]
    fn locks_are_due_in_their_order_and_again_later() {
        let mut renewals = Renewals::default();
        acquired(&mut renewals, "later", HOUR, HOUR);
        acquired(&mut renewals, "now", Duration::ZERO, HOUR);
        renewals.note(1, &Key::from("elsewhere"), &Note::Acquired(Duration::ZERO), HOUR);
        assert_eq!(renewals.take_due(0), Some((Key::from("now"), Duration::ZERO)));
        renewals.note(0, &Key::from("now"), &Note::Extended(HOUR), HOUR);
        assert_eq!(renewals.take_due(0), None);
        assert!(renewals.next(0).unwrap() > Instant::now());
        renewals.note(0, &Key::from("now"), &Note::Released, HOUR);
        renewals.forget(0, &Key::from("later"));
        assert_eq!(renewals.next(0), None);
        assert_eq!(renewals.take_due(1), Some((Key::from("elsewhere"), Duration::ZERO)));
    }

    #[test]
    fn a_lock_is_not_extended_beyond_its_maximum() {
        let mut renewals = Renewals::default();
        acquired(&mut renewals, "lock", Duration::ZERO, Duration::ZERO);
        assert!(!renewals.has(0, &Key::from("lock")));
        assert_eq!(renewals.take_due(0), None);
        assert_eq!(renewals.next(0), None, "it is forgotten");
        acquired(&mut renewals, "lock", Duration::ZERO, HOUR);
        assert!(renewals.has(0, &Key::from("lock")));
    }
}
