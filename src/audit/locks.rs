//! The locks that are followed, by their keys: a lock of several keys is found by each of them.

use hashbrown::{Equivalent, HashMap};
use rustc_hash::FxBuildHasher;

use super::keys::Keys;
use super::lock::AuditedLock;
use crate::wire::Key;

/// A key in a database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LockName {
    pub(super) database: u32,
    pub(super) key: Box<[u8]>,
}

/// The same, borrowed.
#[derive(PartialEq, Eq, Hash)]
struct LockNameRef<'a> {
    database: u32,
    key: &'a [u8],
}

/// The locks that are followed.
#[derive(Debug, Default)]
pub(super) struct AuditedLocks {
    all: HashMap<LockName, AuditedLock, FxBuildHasher>,
    /// The keys that were joined to a lock with another name, and that name.
    joined: HashMap<LockName, LockName, FxBuildHasher>,
}

impl Equivalent<LockName> for LockNameRef<'_> {
    fn equivalent(&self, name: &LockName) -> bool {
        self.database == name.database && *self.key == *name.key
    }
}

impl LockName {
    pub(super) fn new(database: u32, key: &[u8]) -> Self {
        Self { database, key: key.into() }
    }
}

impl AuditedLocks {
    /// Whether this key belongs to a lock.
    pub(super) fn contains(&self, database: u32, key: &[u8]) -> bool {
        let name = LockNameRef { database, key };
        self.all.contains_key(&name) || !self.joined.is_empty() && self.joined.contains_key(&name)
    }

    /// The lock that this key belongs to.
    pub(super) fn get_mut(&mut self, database: u32, key: &[u8]) -> Option<&mut AuditedLock> {
        let name = LockNameRef { database, key };
        match self.joined.get(&name) {
            Some(name) => self.all.get_mut(name),
            None => self.all.get_mut(&name),
        }
    }

    /// Follows a lock.
    pub(super) fn insert(&mut self, name: LockName, lock: AuditedLock) {
        self.all.insert(name, lock);
    }

    /// Joins a key to the lock of this name, as a part of it or as a lock by itself, unless that lock would have too many.
    pub(super) fn join(&mut self, name: &LockName, key: &[u8], is_part: bool, is_known: bool) {
        let joined = LockName::new(name.database, key);
        if joined == *name || self.joined.contains_key(&joined) {
            return;
        }
        let other = self.all.remove(&joined);
        let home = self.joined.get(name).unwrap_or(name).clone();
        let Some(lock) = self.all.get_mut(&home) else { return };
        if lock.keys.count() + other.as_ref().map_or(1, |other| other.keys.count()) > Keys::MOST {
            self.all.extend(other.map(|other| (joined, other)));
            return;
        }
        lock.join(&name.key, Key::new(key), is_part, other, is_known);
        self.joined.values_mut().filter(|other| **other == joined).for_each(|other| other.clone_from(&home));
        self.joined.insert(joined, home);
    }

    /// All locks.
    pub(super) fn iter(&self) -> impl Iterator<Item = &AuditedLock> {
        self.all.values()
    }

    /// The names of all locks.
    pub(super) fn names(&self) -> impl Iterator<Item = &LockName> {
        self.all.keys()
    }

    /// Forgets all locks but these.
    pub(super) fn retain(&mut self, mut stays: impl FnMut(&LockName, &mut AuditedLock) -> bool) {
        self.all.retain(|name, lock| stays(name, lock));
        self.joined.retain(|_, home| self.all.contains_key(home));
    }
}
