//! One database: keys, what they hold, and when they expire.

use std::collections::BTreeMap;

use super::value::Value;
use crate::wire::Key;

/// What is stored under a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    pub(super) value: Value,
    /// The last millisecond since 1970 in which the key exists.
    pub(super) deadline_ms: Option<i64>,
}

impl Entry {
    /// Redis keeps a key through the millisecond of its deadline: it has expired when that has passed. That is so for every
    /// command; since 8.0 a search in the background can remove the key in that millisecond, which `explore` has a step for.
    pub(super) fn has_expired(&self, now_ms: i64) -> bool {
        self.deadline_ms.is_some_and(|deadline_ms| now_ms > deadline_ms)
    }
}

/// One database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Database {
    pub(super) entries: BTreeMap<Key, Entry>,
}

impl Database {
    /// Whether some of its keys have expired: before almost every command, of almost every database, none has.
    #[inline]
    pub(super) fn has_expired_keys(&self, now_ms: i64) -> bool {
        !self.entries.is_empty() && self.entries.values().any(|entry| entry.has_expired(now_ms))
    }

    /// Removes the expired keys, and returns them.
    pub(super) fn purge(&mut self, now_ms: i64) -> Vec<Key> {
        let over = self.entries.iter().filter(|(_, entry)| entry.has_expired(now_ms));
        let names: Vec<Key> = over.map(|(key, _)| key.clone()).collect();
        for name in &names {
            self.entries.remove(name);
        }
        names
    }
}
