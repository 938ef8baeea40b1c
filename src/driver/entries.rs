//! How many holds each thread or task of this program has of a re-entrant lock.
//!
//! After an attempt whose reply was lost, this number decides whether the server has counted an entry that no guard stands
//! for. It may be too high: while another attempt is under way, after a guard was abandoned, or for a key of the same name
//! on another server. Then nothing is released, and the lease ends the entry. It is too low only if one task makes two
//! attempts at the same time.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use lockshift_lock::{Locker, Owner};
use lockshift_wire::Key;

type Name = (Key, String);

static ENTRIES: LazyLock<Mutex<HashMap<Name, u32>>> = LazyLock::new(Mutex::default);

fn entries() -> MutexGuard<'static, HashMap<Name, u32>> {
    // Each change is one step.
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn name(locker: &dyn Locker, owner: &Owner) -> Option<Name> {
    let name = locker.reentrant_name(owner)?;
    Some((locker.key().clone(), name))
}

fn count_one_more(name: Name) {
    *entries().entry(name).or_default() += 1;
}

/// One attempt on a re-entrant lock and the hold that it wins, counted until it is dropped.
#[derive(Debug)]
pub(super) struct ReentrantEntry(Name);

impl ReentrantEntry {
    /// Counts an attempt of this owner; `None` if the lock is not re-entrant.
    pub(super) fn begin(locker: &dyn Locker, owner: &Owner) -> Option<Self> {
        let name = name(locker, owner)?;
        count_one_more(name.clone());
        Some(Self(name))
    }

    /// Counts it for as long as the program runs: the server has the entry, and no guard will release it.
    pub(super) fn keep(&self) {
        count_one_more(self.0.clone());
    }
}

impl Drop for ReentrantEntry {
    fn drop(&mut self) {
        let mut entries = entries();
        if let Some(count) = entries.get_mut(&self.0) {
            *count -= 1;
            if *count == 0 {
                entries.remove(&self.0);
            }
        }
    }
}

/// This owner, with the number of its entries.
pub(super) fn counted(locker: &dyn Locker, owner: &Owner) -> Owner {
    let entries = name(locker, owner).and_then(|name| entries().get(&name).copied()).unwrap_or(0);
    Owner { entries, ..*owner }
}
