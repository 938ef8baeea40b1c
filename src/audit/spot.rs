//! One key of a lock: what stands in it, and what came of those whose lock it is.
//!
//! Most locks have one key. A bridge holds two, and on each of them somebody else has a lock of his own; where owner and
//! stamp stand in two keys, both are one lock.

use std::sync::Arc;

use super::hold::Written;
use super::spoken::Spoken;
use super::tally::Tally;
use crate::sim::{Server, Stored};
use crate::wire::{Key, UnixTime};

/// One key of a lock.
#[derive(Debug)]
pub(super) struct Spot {
    pub(super) key: Key,
    /// Its place among the keys of the lock.
    pub(super) number: u8,
    /// The place of the key that those name whose lock this is: its own, unless it is no lock by itself.
    pub(super) home: u8,
    /// Whether it is known what stands in the key: from the first command on that leaves no doubt.
    pub(super) is_known: bool,
    pub(super) written: Option<Arc<Written>>,
    /// What stood in the key when somebody last looked.
    pub(super) seen: Option<Arc<Stored>>,
    /// The kinds of those who have won it.
    pub(super) winners: Spoken,
    pub(super) tally: Tally,
    /// The line of the value that somebody was found to wait for in vain.
    pub(super) starved_by: Option<u64>,
}

impl Spot {
    /// A key of which nothing is known yet, a lock of its own.
    pub(super) fn new(key: Key) -> Self {
        Self {
            key,
            number: 0,
            home: 0,
            is_known: false,
            written: None,
            seen: None,
            winners: Spoken::default(),
            tally: Tally::default(),
            starved_by: None,
        }
    }

    /// What stands in the key: a copy is made only of what was not seen before.
    pub(super) fn look(&mut self, server: &Server, at: UnixTime) -> Option<Arc<Stored>> {
        let now = server.see(&self.key, at);
        let is_as_seen = now.zip(self.seen.as_deref()).is_some_and(|(now, seen)| now == *seen);
        if !is_as_seen {
            self.seen = now.map(|now| Arc::new(now.to_stored()));
        }
        self.seen.clone()
    }
}
