//! Shadow mode: the old lock decides, a new one is taken beside it under another key, and where the two disagree that is
//! counted. What they have said so far; how it is asked belongs to the drivers.

use std::sync::atomic::{AtomicU64, Ordering};

use lockshift_wire::Key;

use super::events::SHADOW;

/// How often a lock and its shadow have said the same, and how often not.
///
/// Where every client of a lock has the same shadow, [`doubled`](Self::doubled) counts what the lock is there to prevent.
/// While some still have none, [`unmatched`](Self::unmatched) counts how often those hold it; a few are also due to holders
/// that are between the one key and the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Both gave the lock, or both refused it.
    pub agreed: u64,
    /// The lock was given while somebody had the shadow: two may have held at once. Or the shadow was lost while the lock
    /// was still extended.
    pub doubled: u64,
    /// The lock was refused while nobody had the shadow.
    pub unmatched: u64,
    /// The shadow could not be asked.
    pub failed: u64,
}

/// What a lock and its shadow have come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Agreed,
    Doubled,
    Unmatched,
    Failed,
}

/// A tally that is being kept, on whatever threads.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    agreed: AtomicU64,
    doubled: AtomicU64,
    unmatched: AtomicU64,
    failed: AtomicU64,
}

impl Tallies {
    /// Counts, and logs what is worth a look. `key` is the shadow's.
    pub(super) fn count(&self, key: &Key, comparison: Comparison) {
        match comparison {
            Comparison::Agreed => &self.agreed,
            Comparison::Doubled => {
                log::warn!(target: SHADOW, "shadow key `{key}`: somebody has it, and yet the lock was given");
                &self.doubled
            }
            Comparison::Unmatched => {
                log::info!(target: SHADOW, "shadow key `{key}`: nobody has it, and yet the lock was refused");
                &self.unmatched
            }
            Comparison::Failed => &self.failed,
        }
        .fetch_add(1, Ordering::Relaxed);
    }

    /// As it is now.
    pub(super) fn tally(&self) -> Tally {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Tally {
            agreed: read(&self.agreed),
            doubled: read(&self.doubled),
            unmatched: read(&self.unmatched),
            failed: read(&self.failed),
        }
    }
}
