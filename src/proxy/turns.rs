//! Turns: observed commands on one key run one after the other, so that the order of events is the server's.

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
    /// Waits until no other command on this key is under way.
    pub(super) async fn wait(&self, database: u32, key: &Key) -> MutexGuard<'_, ()> {
        let hash = self.hasher.hash_one((database, key));
        self.all[usize::try_from(hash).unwrap_or(usize::MAX) % TURNS].lock().await
    }
}
