//! When the leases of one connection's locks end: for clients that work longer.

use std::collections::BTreeMap;

use tokio::time::Instant;

use crate::guard::Note;
use crate::wire::Key;

/// The leases of the locks that a connection holds, by database and key.
#[derive(Debug, Default)]
pub(super) struct HeldLeases(BTreeMap<(u32, Key), HeldLease>);

#[derive(Clone, Copy, Debug)]
struct HeldLease {
    /// When the client stops relying on the lock, as it believes.
    end: Instant,
    /// Whether the guard has extended the lock.
    is_renewed: bool,
}

/// How a client that worked longer than its lease has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overrun {
    /// The guard had extended the lock, so the client still held it.
    Covered,
    /// It worked without the lock.
    Happened,
}

impl HeldLeases {
    /// Whether the lease of this lock has not ended, as its client believes.
    pub(super) fn is_running(&self, database: u32, key: &Key) -> bool {
        self.0.get(&(database, key.clone())).is_some_and(|lease| lease.end > Instant::now())
    }

    /// The guard no longer remembers this lock.
    pub(super) fn forget(&mut self, database: u32, key: &Key) {
        self.0.remove(&(database, key.clone()));
    }

    /// What happened to a lock. Returns what is known of a release after the end of its lease.
    pub(super) fn note(&mut self, database: u32, key: &Key, note: &Note) -> Option<Overrun> {
        let name = || (database, key.clone());
        match note {
            Note::Acquired(length) | Note::TookOver(length) | Note::Extended(length) => {
                self.0.insert(name(), HeldLease { end: Instant::now() + *length, is_renewed: false });
                None
            }
            Note::Withdrawn => {
                self.0.remove(&name());
                None
            }
            Note::Renewed => {
                self.0.entry(name()).and_modify(|lease| lease.is_renewed = true);
                None
            }
            Note::Released | Note::ReleasedLost => {
                let lease = self.0.remove(&name()).filter(|lease| lease.end < Instant::now())?;
                let is_covered = lease.is_renewed && *note == Note::Released;
                Some(if is_covered { Overrun::Covered } else { Overrun::Happened })
            }
            _ => None,
        }
    }
}
