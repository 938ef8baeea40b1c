//! What the guard knows of one client connection.

use std::collections::BTreeMap;

use super::connection_part::{ConnectionPart, GuardedTransaction};
use super::key_session::KeySession;
use super::scripts;
use crate::wire::{Command, Key};

/// What the guard knows of one client connection: where its client is in its protocol on each guarded key, and whether it is
/// inside MULTI.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct GuardedConnection {
    sessions: BTreeMap<Key, KeySession>,
    transaction: GuardedTransaction,
}

impl GuardedConnection {
    /// The keys on which its client holds a lock that it has not released.
    pub fn held(&self) -> impl Iterator<Item = &Key> {
        self.sessions.iter().filter(|(_, session)| session.grant().is_some()).map(|(key, _)| key)
    }

    /// What it knows of one key: all that a command on this key needs, however many locks its client holds.
    pub fn part(&self, key: &Key) -> ConnectionPart {
        ConnectionPart::new(self.sessions.get(key).cloned().unwrap_or_default(), self.transaction)
    }

    /// A command on this key has made this of the [`part`](Self::part).
    pub fn update(&mut self, key: &Key, after: ConnectionPart) {
        let (session, transaction) = after.into_parts();
        self.transaction = transaction;
        if session.is_empty() {
            self.sessions.remove(key);
        } else if let Some(known) = self.sessions.get_mut(key) {
            *known = session;
        } else {
            self.sessions.insert(key.clone(), session);
        }
    }

    /// The client selects another database, where this is known of it: its transaction goes with it. Returns what is known of the
    /// one that it leaves.
    pub fn select(&mut self, mut other: Self) -> Self {
        other.transaction = std::mem::take(&mut self.transaction);
        std::mem::replace(self, other)
    }

    /// Whether the guard may extend its locks now: not inside a transaction, and not while it watches a lock.
    pub fn is_renewable(&self) -> bool {
        self.transaction == GuardedTransaction::default()
    }

    /// Whether its client holds no lock, has no attempt under way, and neither watches a lock nor is inside MULTI.
    pub fn is_idle(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it is inside MULTI, where commands are queued.
    pub fn is_in_multi(&self) -> bool {
        self.transaction.in_multi
    }

    /// The client sends a command that names no key: what it does to the connection.
    pub fn observe(&mut self, command: &Command) {
        self.transaction.observe(command);
    }

    /// Whether this command, which the guard sends, may write a lock.
    pub fn may_write_lock(command: &Command) -> bool {
        scripts::is_take(command)
    }
}
