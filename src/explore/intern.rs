//! Small ids for values that are met again and again.

use std::hash::{BuildHasher, Hash};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::actor::Actor;
use super::server_side::ServerSide;

/// One part of a world.
pub(super) enum PartOfWorld {
    Actor(Actor),
    Node(Box<ServerSide>),
}

/// Values by id and ids by value. Ids count up from 0 in the order of first meeting.
#[derive(Debug)]
pub(super) struct Interner<T> {
    values: Vec<T>,
    ids: HashTable<u32>,
}

impl<T: Eq + Hash> Interner<T> {
    pub(super) fn new() -> Self {
        Self { values: Vec::new(), ids: HashTable::new() }
    }

    /// The id of a value.
    pub(super) fn id(&mut self, value: T) -> u32 {
        let hash = FxBuildHasher.hash_one(&value);
        if let Some(id) = self.ids.find(hash, |id| self.values[*id as usize] == value) {
            return *id;
        }
        let id =
            u32::try_from(self.values.len()).expect("the parts of a world fit into memory, so their ids into 32 bits");
        self.values.push(value);
        let values = &self.values;
        self.ids.insert_unique(hash, id, |id| FxBuildHasher.hash_one(&values[*id as usize]));
        id
    }

    /// The value of an id that this interner gave.
    pub(super) fn get(&self, id: u32) -> &T {
        &self.values[id as usize]
    }

    /// All values, by id.
    pub(super) fn all(&self) -> &[T] {
        &self.values
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }
}
