//! One key of a lock: what stands in it, and what came of those whose lock it is.

use std::sync::Arc;

use super::hold::Written;
use super::kinds::Kinds;
use super::tally::Tally;
use crate::sim::Stored;
use crate::wire::Key;

/// One key of a lock.
#[derive(Debug)]
pub(super) struct Spot {
    pub(super) key: Key,
    /// Whether it is known what stands in the key: from the first command on that leaves no doubt.
    pub(super) is_known: bool,
    pub(super) written: Option<Arc<Written>>,
    /// What stood in the key when somebody last looked.
    pub(super) seen: Option<Arc<Stored>>,
    /// The kinds of those who have won it.
    pub(super) winners: Kinds,
    pub(super) tally: Tally,
    /// The line of the value that somebody was found to wait for in vain.
    pub(super) starved_by: Option<u64>,
}

impl Spot {
    /// A key of which nothing is known yet.
    pub(super) fn new(key: Key) -> Self {
        Self {
            key,
            is_known: false,
            written: None,
            seen: None,
            winners: Kinds::default(),
            tally: Tally::default(),
            starved_by: None,
        }
    }
}
