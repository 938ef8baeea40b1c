//! Causes by number, and clients that remember the cause that last changed what they hold.

use rustc_hash::FxHashMap;

use super::keys::pair;
use crate::explore::blame::Attribution;
use crate::explore::blame::{Cause, CauseId};
use crate::explore::intern::Interner;

/// Causes by number, and clients that remember one.
#[derive(Debug)]
pub(super) struct Causes {
    all: Interner<Cause>,
    known: FxHashMap<Attribution<u32>, CauseId>,
    harmed: FxHashMap<u64, u32>,
}

impl Causes {
    pub(super) fn new() -> Self {
        Self { all: Interner::new(), known: FxHashMap::default(), harmed: FxHashMap::default() }
    }

    /// The number of a cause.
    pub(super) fn number(&self, attribution: Attribution<u32>) -> Option<CauseId> {
        self.known.get(&attribution).copied()
    }

    /// The cause of a number.
    pub(super) fn get(&self, number: CauseId) -> &Cause {
        self.all.get(number.0)
    }

    /// What becomes of a client to which this is done.
    pub(super) fn harmed(&self, actor: u32, cause: CauseId) -> Option<u32> {
        self.harmed.get(&pair(actor, cause.0)).copied()
    }

    /// This is its cause.
    pub(super) fn learn(&mut self, attribution: Attribution<u32>, cause: Cause) {
        let number = CauseId(self.all.id(cause));
        self.known.insert(attribution, number);
    }

    /// This becomes of it.
    pub(super) fn learn_harmed(&mut self, actor: u32, cause: CauseId, after: u32) {
        self.harmed.insert(pair(actor, cause.0), after);
    }
}
