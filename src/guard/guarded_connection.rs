//! What the guard knows of one client connection.

use std::collections::{BTreeMap, BTreeSet};

use super::connection_part::{ConnectionPart, GuardedTransaction};
use super::key_session::KeySession;
use super::scripts;
use crate::wire::{Command, Key};

/// What the guard knows of one client connection in one database: where its client is in its protocol on each guarded key, which
/// of them it watches, and whether it is inside MULTI.
#[derive(Clone, Debug, Default)]
pub struct GuardedConnection {
    sessions: BTreeMap<Key, KnownSession>,
    /// Of the database that is selected.
    in_multi: bool,
    /// The guarded keys that it watches: whatever changes one ends the transaction.
    watched: BTreeSet<Key>,
    /// Number of updates.
    updates: u64,
    /// With so many keys it [has too many](Self::has_too_many), or with twice [`REMEMBERED`] if that is more.
    too_many: usize,
}

#[derive(Clone, Debug)]
struct KnownSession {
    session: KeySession,
    /// The number of its last update.
    updated: u64,
}

/// Of the keys that may be forgotten, so many are remembered.
const REMEMBERED: usize = 256;

impl GuardedConnection {
    /// The keys on which its client has a lock that it has not released.
    pub fn held(&self) -> impl Iterator<Item = &Key> {
        self.sessions.iter().filter(|(_, known)| known.session.grant().is_some()).map(|(key, _)| key)
    }

    /// What it knows of one key: all that a command on this key needs, however many locks its client holds.
    pub fn part(&self, key: &Key) -> ConnectionPart {
        ConnectionPart::new(self.session(key), self.transaction_of(Some(self), key))
    }

    /// The same for a key of another database, where this is known of that.
    pub fn part_elsewhere(&self, other: Option<&Self>, key: &Key) -> ConnectionPart {
        let session = other.map(|other| other.session(key)).unwrap_or_default();
        ConnectionPart::new(session, self.transaction_of(other, key))
    }

    fn transaction_of(&self, connection: Option<&Self>, key: &Key) -> GuardedTransaction {
        let is_watching = connection.is_some_and(|connection| connection.watched.contains(key));
        GuardedTransaction { in_multi: self.in_multi, is_watching }
    }

    fn session(&self, key: &Key) -> KeySession {
        self.sessions.get(key).map(|known| known.session.clone()).unwrap_or_default()
    }

    /// A transaction of its client has released what it holds of this key. Returns whether that was anything.
    pub fn released(&mut self, key: &Key) -> bool {
        self.sessions.remove(key).is_some_and(|known| known.session.grant().is_some())
    }

    /// A command on this key has made this of the [`part`](Self::part).
    pub fn update(&mut self, key: &Key, after: ConnectionPart) {
        let (session, transaction) = after.into_parts();
        self.in_multi = transaction.in_multi;
        if transaction.is_watching {
            self.watches(key);
        } else if !self.watched.is_empty() {
            self.watched.remove(key);
        }
        self.updates += 1;
        let known = KnownSession { session, updated: self.updates };
        if known.session.is_empty() {
            self.sessions.remove(key);
        } else if let Some(before) = self.sessions.get_mut(key) {
            *before = known;
        } else {
            self.sessions.insert(key.clone(), known);
        }
    }

    /// Its client watches this key.
    pub fn watches(&mut self, key: &Key) {
        self.watched.insert(key.clone());
    }

    /// Whether it is time to [forget](Self::forget) some keys: of clients that never release, or never end their attempts,
    /// it knows more and more.
    pub fn has_too_many(&self) -> bool {
        self.sessions.len() >= self.too_many.max(2 * REMEMBERED)
    }

    /// Forgets the keys on which its client has an attempt under way, or a lock that it `holds` no more, but for the latest.
    /// Returns the keys of those locks. A later DEL of one is ignored.
    pub fn forget(&mut self, holds: impl Fn(&Key) -> bool) -> Vec<Key> {
        let ended = self.sessions.iter().filter(|(key, known)| known.session.grant().is_none() || !holds(key));
        let mut ended: Vec<(u64, Key)> = ended.map(|(key, known)| (known.updated, key.clone())).collect();
        ended.sort_unstable();
        ended.truncate(ended.len().saturating_sub(REMEMBERED));
        let forgotten = self.forget_these(ended.into_iter().map(|(_, key)| key));
        self.too_many = 2 * self.sessions.len();
        forgotten
    }

    /// Forgets each lock that its client `holds` no more. Returns their keys.
    pub fn forget_ended(&mut self, holds: impl Fn(&Key) -> bool) -> Vec<Key> {
        let ended: Vec<Key> = self.held().filter(|key| !holds(key)).cloned().collect();
        self.forget_these(ended)
    }

    fn forget_these(&mut self, keys: impl IntoIterator<Item = Key>) -> Vec<Key> {
        keys.into_iter().filter(|key| self.released(key)).collect()
    }

    /// The client selects another database, where this is known of it: its transaction goes with it. Returns what is known of the
    /// one that it leaves.
    pub fn select(&mut self, mut other: Self) -> Self {
        other.in_multi = std::mem::take(&mut self.in_multi);
        std::mem::replace(self, other)
    }

    /// Whether the guard may extend its locks now: not inside a transaction, and not while it watches a lock.
    pub fn is_renewable(&self) -> bool {
        !self.in_multi && self.watched.is_empty()
    }

    /// Whether its client holds no lock, has no attempt under way, and neither watches a lock nor is inside MULTI.
    pub fn is_idle(&self) -> bool {
        self.sessions.is_empty() && self.is_renewable()
    }

    /// Whether it is inside MULTI, where commands are queued.
    pub fn is_in_multi(&self) -> bool {
        self.in_multi
    }

    /// The client sends a command that names no key: what it does to the connection.
    pub fn observe(&mut self, command: &Command) {
        let mut transaction = GuardedTransaction { in_multi: self.in_multi, is_watching: true };
        transaction.observe(command);
        self.in_multi = transaction.in_multi;
        if !transaction.is_watching {
            self.watched.clear();
        }
    }

    /// Whether this command, which the guard sends, may write a lock.
    pub fn may_write_lock(command: &Command) -> bool {
        scripts::is_take(command)
    }
}
