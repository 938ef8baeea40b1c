//! The ways along a conversation that led nowhere, so that none is followed twice.
//!
//! A clock that is read may have shown several times, and each of them is followed to the end of the conversation. Without this
//! the time would grow with their combinations: by four with every extension of a lock.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use rustc_hash::{FxBuildHasher, FxHasher};

use crate::audit::correspondence::Correspondence;
use crate::audit::exchange::LockExchange;
use crate::lock::Hold;

/// Maximum number of ways that are followed from one place. What a client writes says what its clock showed, and that is followed
/// first: where ways come together they are the same again.
const MOST: usize = 8;

/// What begins at an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Beginning<'a> {
    Attempt,
    Withdrawal,
    /// A command of this holder.
    OfHolder(&'a Hold),
}

/// The ways of one conversation in one protocol that led nowhere, by the exchange with which they begin.
#[derive(Default)]
pub(super) struct DeadEnds(RefCell<HashMap<usize, Vec<u64>, FxBuildHasher>>);

impl DeadEnds {
    /// Follows this way, unless it is known to lead nowhere.
    pub(super) fn unless_known<T>(
        &self,
        exchanges: &[LockExchange],
        from: usize,
        beginning: Beginning<'_>,
        pairs: Correspondence,
        follow: impl FnOnce(Correspondence) -> Option<T>,
    ) -> Option<T> {
        // Computed late: nearly all ways lead somewhere at once.
        let way = || {
            let mut hasher = FxHasher::default();
            beginning.hash(&mut hasher);
            pairs.hash_those_in(&exchanges[from..], &mut hasher);
            hasher.finish()
        };
        let known = self.0.borrow().get(&from).map_or(0, Vec::len);
        if known >= MOST || known > 0 && self.0.borrow()[&from].contains(&way()) {
            return None;
        }
        let reached = follow(pairs.clone());
        if reached.is_none() {
            self.0.borrow_mut().entry(from).or_default().push(way());
        }
        reached
    }
}
