//! Which locks of a connection the guard extends, and when.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::guard::Note;
use crate::wire::Key;

/// The locks of one connection that are extended, by database and key.
#[derive(Debug, Default)]
pub(super) struct Renewals(BTreeMap<(u32, Key), Renewal>);

#[derive(Debug)]
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
        match note {
            Note::Acquired(length) | Note::TookOver(length) => {
                let renewal = Renewal { length: *length, next: now + *length / TIMES_PER_LEASE, until: now + most };
                self.0.insert((database, key.clone()), renewal);
            }
            Note::Extended(length) => {
                if let Some(renewal) = self.0.get_mut(&(database, key.clone())) {
                    (renewal.length, renewal.next) = (*length, now + *length / TIMES_PER_LEASE);
                }
            }
            Note::Released | Note::ReleasedLost | Note::Lost | Note::Withdrawn => {
                self.0.remove(&(database, key.clone()));
            }
            _ => {}
        }
    }

    /// When the next lock of this database is to be extended.
    pub(super) fn next(&self, database: u32) -> Option<Instant> {
        self.0.iter().filter(|((of, _), _)| *of == database).map(|(_, renewal)| renewal.next).min()
    }

    /// The lock of this database that is to be extended now, and by how much. It is due again after a part of that.
    pub(super) fn take_due(&mut self, database: u32) -> Option<(Key, Duration)> {
        let now = Instant::now();
        self.0.retain(|_, renewal| renewal.until > now);
        let due = self.0.iter_mut().find(|((of, _), renewal)| *of == database && renewal.next <= now);
        let ((_, key), renewal) = due?;
        renewal.next = now + renewal.length / TIMES_PER_LEASE;
        // The last extension ends with the maximum.
        Some((key.clone(), renewal.length.min(renewal.until - now)))
    }

    /// Whether this lock is still extended.
    pub(super) fn has(&self, database: u32, key: &Key) -> bool {
        self.0.contains_key(&(database, key.clone()))
    }

    /// The lock is not held any more.
    pub(super) fn forget(&mut self, database: u32, key: &Key) {
        self.0.remove(&(database, key.clone()));
    }
}
