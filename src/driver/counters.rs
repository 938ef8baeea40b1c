//! What becomes of locks, in numbers that only grow.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What becomes of locks, in numbers that only grow. A lock has its own, or shares those that it is given:
///
/// ```no_run
/// use std::sync::Arc;
/// use lockshift::driver::{Counters, blocking::Lock};
/// # use lockshift::lock::{Lease, LeaseError};
/// # use lockshift::modern::TokenLock;
/// # fn locks(one: redis::Connection, other: redis::Connection, lease: Lease) {
/// let counters = Arc::new(Counters::default());
/// let invoices = Lock::new(one, TokenLock::new("invoices".into(), lease)).counting(&counters);
/// let letters = Lock::new(other, TokenLock::new("letters".into(), lease)).counting(&counters);
/// println!("{:?}", counters.counted());
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Counters {
    acquired: AtomicU64,
    refused: AtomicU64,
    waited_us: AtomicU64,
    held_us: AtomicU64,
    lost: AtomicU64,
    intruded: AtomicU64,
}

/// What the counters stood at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counted {
    /// How often a lock was acquired.
    pub acquired: u64,
    /// How often a waiter gave up, because other clients held the lock until its deadline, or until its future was dropped.
    pub refused: u64,
    /// For how long all together waited, whether they got it or not.
    pub waited: Duration,
    /// For how long all holders together held, until they released or abandoned.
    pub held: Duration,
    /// How often a lock was lost while its holder still wanted it.
    pub lost: u64,
    /// How often a client of an older protocol was seen to have overwritten a lock that was held.
    pub intruded: u64,
}

impl Counters {
    /// What they stand at. Each number is exact; between two of them something may happen.
    pub fn counted(&self) -> Counted {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counted {
            acquired: read(&self.acquired),
            refused: read(&self.refused),
            waited: Duration::from_micros(read(&self.waited_us)),
            held: Duration::from_micros(read(&self.held_us)),
            lost: read(&self.lost),
            intruded: read(&self.intruded),
        }
    }

    /// Counts an intrusion: a lock that was held turns out to have been overwritten by a client that does not respect it.
    pub fn note_intrusion(&self) {
        add(&self.intruded, 1);
    }

    pub(super) fn note_acquired(&self, waited: Duration) {
        add(&self.acquired, 1);
        add(&self.waited_us, micros(waited));
    }

    pub(super) fn note_refused(&self, waited: Duration) {
        add(&self.refused, 1);
        add(&self.waited_us, micros(waited));
    }

    pub(super) fn note_held(&self, held: Duration) {
        add(&self.held_us, micros(held));
    }

    pub(super) fn note_lost(&self) {
        add(&self.lost, 1);
    }
}

fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

/// Half a million years are enough.
fn micros(length: Duration) -> u64 {
    u64::try_from(length.as_micros()).unwrap_or(u64::MAX)
}
