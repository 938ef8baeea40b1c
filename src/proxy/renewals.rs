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
    /// The same in the order in which they are due.
    due: BTreeSet<(Instant, u32, Key)>,
}

#[derive(Clone, Copy, Debug)]
struct Renewal {
    /// By how much it is extended each time.
    length: Duration,
    next: Instant,
    /// Its client, or the latest extension, relies on it until then.
    end: Instant,
    /// It is not extended after that.
    until: Instant,
}

/// A lock is extended this often in the time for which its client relies on it.
const TIMES_PER_LEASE: u32 = 3;

impl Renewals {
    /// What happened to a lock, which is held for at most this long.
    pub(super) fn note(&mut self, database: u32, key: &Key, note: &Note, most: Duration) {
        let now = Instant::now();
        let renewal = |length: Duration, until| Renewal {
            length,
            next: now + length / TIMES_PER_LEASE,
            end: now + length,
            until,
        };
        match note {
            Note::Acquired(length) | Note::TookOver(length) => {
                self.enter(database, key, renewal(*length, now + most));
            }
            Note::Extended(length) => {
                if let Some(Renewal { until, .. }) = self.take(database, key) {
                    self.enter(database, key, renewal(*length, until));
                }
            }
            Note::Released | Note::ReleasedLost | Note::Lost | Note::Withdrawn => self.forget(database, key),
            _ => {}
        }
    }

    /// When the next lock is to be extended.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due.first().map(|(next, ..)| *next)
    }

    /// The lock that is to be extended now, with its database, and by how much. It is due again after a part of that.
    pub(super) fn take_due(&mut self) -> Option<(u32, Key, Duration)> {
        let now = Instant::now();
        while self.next()? <= now {
            let (_, database, key) = self.due.first().cloned()?;
            let renewal = self.take(database, &key)?;
            if renewal.until <= now {
                continue;
            }
            // The last extension ends with the maximum.
            let length = renewal.length.min(renewal.until - now);
            let end = now + length;
            if end > renewal.end {
                self.enter(database, &key, Renewal { next: now + renewal.length / TIMES_PER_LEASE, end, ..renewal });
                return Some((database, key, length));
            }
            // It would end earlier than its client has written, or than an earlier extension ends.
            self.enter(database, &key, Renewal { next: renewal.until, ..renewal });
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
        self.due.insert((renewal.next, database, key.clone()));
    }

    fn take(&mut self, database: u32, key: &Key) -> Option<Renewal> {
        let renewal = self.locks.remove(&(database, key.clone()))?;
        self.due.remove(&(renewal.next, database, key.clone()));
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
    fn locks_are_due_in_their_order_whatever_their_database() {
        let mut renewals = Renewals::default();
        acquired(&mut renewals, "later", HOUR, HOUR);
        renewals.note(1, &Key::from("elsewhere"), &Note::Acquired(A_MOMENT), HOUR);
        sleep(A_MOMENT);
        assert_eq!(renewals.take_due(), Some((1, Key::from("elsewhere"), A_MOMENT)));
        renewals.note(1, &Key::from("elsewhere"), &Note::Extended(HOUR), HOUR);
        assert_eq!(renewals.take_due(), None);
        assert!(renewals.next().unwrap() > Instant::now());
        renewals.note(1, &Key::from("elsewhere"), &Note::Released, HOUR);
        renewals.forget(0, &Key::from("later"));
        assert_eq!(renewals.next(), None);
    }

    #[test]
    fn a_lock_is_not_extended_beyond_its_maximum() {
        let mut renewals = Renewals::default();
        acquired(&mut renewals, "lock", Duration::ZERO, Duration::ZERO);
        assert!(!renewals.has(0, &Key::from("lock")));
        assert_eq!(renewals.take_due(), None);
        assert_eq!(renewals.next(), None, "it is forgotten");
        acquired(&mut renewals, "lock", Duration::ZERO, HOUR);
        assert!(renewals.has(0, &Key::from("lock")));
    }

    /// A client relies on its lock for as long as it has written.
    #[test]
    fn an_extension_never_shortens_a_lock() {
        let mut renewals = Renewals::default();
        acquired(&mut renewals, "lock", 100 * A_MOMENT, 40 * A_MOMENT);
        sleep(34 * A_MOMENT);
        assert_eq!(renewals.take_due(), None, "it lasts for longer than the maximum");
        assert!(renewals.has(0, &Key::from("lock")));
        sleep(7 * A_MOMENT);
        assert_eq!((renewals.take_due(), renewals.next()), (None, None));
    }

    const A_MOMENT: Duration = Duration::from_millis(10);

    fn sleep(length: Duration) {
        let end = Instant::now() + length;
        while Instant::now() < end {
            std::thread::yield_now();
        }
    }
}
