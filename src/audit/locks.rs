//! The keys that are followed, and the lock that each belongs to: a lock of several keys is found by each of them.

use std::collections::BTreeSet;

use hashbrown::{Equivalent, HashMap};
use rustc_hash::FxBuildHasher;

use super::keys::Keys;

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

/// A lock that is followed, by the number of those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LockId(pub(super) usize);

/// The keys that are followed.
#[derive(Debug, Default)]
pub(super) struct FollowedKeys {
    all: HashMap<LockName, FollowedKey, FxBuildHasher>,
    /// The number of keys of each lock that has several.
    several: HashMap<LockId, usize, FxBuildHasher>,
    next: usize,
}

#[derive(Clone, Copy, Debug)]
struct FollowedKey {
    lock: LockId,
    /// Whether its lock began with another key.
    is_joined: bool,
}

/// What joins a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joining {
    /// A key that was not followed.
    Key,
    /// A key with the lock that began with it.
    Lock(LockId),
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

impl FollowedKeys {
    /// Whether this key belongs to a lock.
    pub(super) fn contains(&self, database: u32, key: &[u8]) -> bool {
        self.all.contains_key(&LockNameRef { database, key })
    }

    /// The lock that this key belongs to.
    pub(super) fn get(&self, database: u32, key: &[u8]) -> Option<LockId> {
        self.all.get(&LockNameRef { database, key }).map(|followed| followed.lock)
    }

    /// Follows a key as a lock by itself.
    pub(super) fn add(&mut self, database: u32, key: &[u8]) -> LockId {
        let lock = LockId(self.next);
        self.next += 1;
        self.all.insert(LockName::new(database, key), FollowedKey { lock, is_joined: false });
        lock
    }

    /// Joins a key to this lock, with the lock that began with it. Returns what that is; `None` if the key belongs to a lock
    /// that began with another one, or if this lock would have too many.
    pub(super) fn join(&mut self, database: u32, key: &[u8], to: LockId) -> Option<Joining> {
        let followed = self.all.get(&LockNameRef { database, key }).copied();
        if followed.is_some_and(|followed| followed.is_joined || followed.lock == to) {
            return None;
        }
        let other = followed.map(|followed| followed.lock);
        let count = self.count(to) + other.map_or(1, |other| self.count(other));
        if count > Keys::MOST {
            return None;
        }
        self.several.insert(to, count);
        let joined = FollowedKey { lock: to, is_joined: true };
        if other.is_some_and(|other| self.several.remove(&other).is_some()) {
            self.all
                .values_mut()
                .filter(|followed| Some(followed.lock) == other)
                .for_each(|followed| *followed = joined);
        }
        self.all.insert(LockName::new(database, key), joined);
        Some(other.map_or(Joining::Key, Joining::Lock))
    }

    fn count(&self, lock: LockId) -> usize {
        self.several.get(&lock).copied().unwrap_or(1)
    }

    /// All locks with a key in such a database, in the order in which they were followed.
    pub(super) fn locks(&self, is_database: impl Fn(u32) -> bool) -> BTreeSet<LockId> {
        let keys = self.all.iter().filter(|(name, _)| is_database(name.database));
        keys.map(|(_, followed)| followed.lock).collect()
    }

    /// Forgets the keys of these locks.
    pub(super) fn forget(&mut self, locks: &BTreeSet<LockId>) {
        self.all.retain(|_, followed| !locks.contains(&followed.lock));
        self.several.retain(|lock, _| !locks.contains(lock));
    }
}

/// A key without what Java serialisation writes before a string.
pub(super) fn without_java_header(key: &[u8]) -> &[u8] {
    key.strip_prefix(b"\xac\xed\0\x05\x74").and_then(|rest| rest.get(2..)).unwrap_or(key)
}
