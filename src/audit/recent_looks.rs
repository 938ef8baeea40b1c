//! Which client has read which key a moment ago: of the keys that are not locks so far, in a table of a fixed size.

use std::hash::{BuildHasher, Hasher};

use rustc_hash::FxBuildHasher;

use crate::monitor::Line;

const SLOTS: usize = 1 << 12;

/// Which client has read which key a moment ago.
#[derive(Debug)]
pub(super) struct RecentLooks {
    slots: Vec<u64>,
}

impl RecentLooks {
    pub(super) fn new() -> Self {
        Self { slots: vec![0; SLOTS] }
    }

    /// A client reads a key.
    pub(super) fn look(&mut self, address: &[u8], key: &[u8], line: &Line<'_>) {
        let is_exists = line.word(0).is_some_and(|name| name.quoted().len() == 6);
        let hash = hash(address, key);
        self.slots[slot(hash)] = hash & !1 | u64::from(is_exists);
    }

    /// Whether the client that has read the key now writes what may be a lock.
    pub(super) fn has_looked(&self, address: &[u8], key: &[u8], line: &Line<'_>) -> bool {
        let hash = hash(address, key);
        if self.slots[slot(hash)] & !1 != hash & !1 {
            return false;
        }
        let is_set = line.word(0).is_some_and(|name| name.quoted().len() == 3);
        let value = line.word(if is_set { 2 } else { 3 }).map(|word| word.bytes());
        let exists = self.slots[slot(hash)] & 1 == 1;
        value.is_some_and(|value| {
            exists && is_set && &*value == b"1" && line.words().len() == 3
                || !exists && super::stamp::moment(&value).is_some_and(|moment| moment > line.at) && value.len() == 10
        })
    }

    /// Whether the same client sent GET and now sends SETNX with a stamp: some dialects look before they claim.
    pub(super) fn has_looked_first(&self, address: &[u8], key: &[u8], line: &Line<'_>) -> bool {
        let is_setnx = line.word(0).is_some_and(|name| name.quoted().eq_ignore_ascii_case(b"setnx"));
        let hash = hash(address, key);
        is_setnx
            && self.slots[slot(hash)] == hash & !1
            && line.word(2).is_some_and(|value| super::stamp::moment(&value.bytes()).is_some())
    }

    /// The look was delivered to a lock, or a later one was.
    pub(super) fn forget(&mut self, address: &[u8], key: &[u8]) {
        let hash = hash(address, key);
        let slot = &mut self.slots[slot(hash)];
        if *slot & !1 == hash & !1 {
            *slot = 0;
        }
    }

    /// Whether the look was an EXISTS.
    pub(super) fn was_exists(&self, address: &[u8], key: &[u8]) -> bool {
        self.slots[slot(hash(address, key))] & 1 == 1
    }
}

fn hash(address: &[u8], key: &[u8]) -> u64 {
    let mut hasher = FxBuildHasher.build_hasher();
    hasher.write(address);
    hasher.write_u8(0);
    hasher.write(key);
    hasher.finish()
}

fn slot(hash: u64) -> usize {
    usize::try_from(hash >> 52).unwrap_or(0) % SLOTS
}
