//! A command that ran within a millisecond of the expiry of a key, and what waits until that is decided.

use std::time::Duration;

use super::event::LockEvent;
use super::keys::KeySet;
use crate::wire::CommandWord;

/// So long after the command, what has not decided it does not count.
const PATIENCE: Duration = Duration::from_secs(1);
/// Maximum number of commands that wait for the decision.
const MOST: usize = 64;

/// A command that ran when these keys expired, and what came after it, each with the key that it is about.
#[derive(Debug)]
pub(super) struct UndecidedExpiry {
    pub(super) keys: KeySet,
    pub(super) events: Vec<(CommandWord, LockEvent)>,
}

impl UndecidedExpiry {
    /// Whether what could decide it does not come any more.
    pub(super) fn is_overdue(&self) -> bool {
        let moments = self.events.first().zip(self.events.last());
        let waited = moments.map(|((_, first), (_, last))| last.at.saturating_since(first.at));
        self.events.len() > MOST || waited.is_some_and(|waited| waited > PATIENCE)
    }
}
