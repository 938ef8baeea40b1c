//! Deeds by number, and clients that remember who harmed them.

use rustc_hash::FxHashMap;

use super::keys::pair;
use crate::explore::deed::{Deed, DeedId};
use crate::explore::doer::Doer;
use crate::explore::intern::Interner;

/// Deeds by number, and clients that remember one.
#[derive(Debug)]
pub(super) struct Deeds {
    all: Interner<Deed>,
    known: FxHashMap<Doer<u32>, DeedId>,
    harmed: FxHashMap<u64, u32>,
}

impl Deeds {
    pub(super) fn new() -> Self {
        Self { all: Interner::new(), known: FxHashMap::default(), harmed: FxHashMap::default() }
    }

    /// The number of a deed.
    pub(super) fn number(&self, doer: Doer<u32>) -> Option<DeedId> {
        self.known.get(&doer).copied()
    }

    /// The deed of a number.
    pub(super) fn get(&self, number: DeedId) -> &Deed {
        self.all.get(number.0)
    }

    /// What becomes of a client to which this is done.
    pub(super) fn harmed(&self, actor: u32, deed: DeedId) -> Option<u32> {
        self.harmed.get(&pair(actor, deed.0)).copied()
    }

    /// This is its deed.
    pub(super) fn learn(&mut self, doer: Doer<u32>, deed: Deed) {
        let number = DeedId(self.all.id(deed));
        self.known.insert(doer, number);
    }

    /// This becomes of it.
    pub(super) fn learn_harmed(&mut self, actor: u32, deed: DeedId, after: u32) {
        self.harmed.insert(pair(actor, deed.0), after);
    }
}
