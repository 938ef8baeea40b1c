//! Turns: observed commands on one key run one after the other, so that the order of events is the server's.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

use tokio::sync::{Mutex, MutexGuard};

use crate::wire::Key;

/// Keys that share a turn by chance wait for each other: the more turns, the rarer.
const TURNS: usize = 256;

/// The turns of all keys.
#[derive(Debug)]
pub(super) struct Turns {
    all: Vec<Mutex<()>>,
    hasher: RandomState,
}

impl Default for Turns {
    fn default() -> Self {
        Self { all: (0..TURNS).map(|_| Mutex::new(())).collect(), hasher: RandomState::new() }
    }
}

impl Turns {
    /// Waits until no other command on any of these keys is under way.
    pub(super) async fn wait(&self, database: u32, keys: impl IntoIterator<Item = Key>) -> Vec<MutexGuard<'_, ()>> {
        let place = |key: Key| usize::try_from(self.hasher.hash_one((database, key))).unwrap_or(usize::MAX) % TURNS;
        // In one order for all, so that no two wait for each other.
        let places: BTreeSet<usize> = keys.into_iter().map(place).collect();
        let mut turns = Vec::with_capacity(places.len());
        for place in places {
            turns.push(self.all[place].lock().await);
        }
        turns
    }
}
