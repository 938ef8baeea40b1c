//! What a lock is known by: its key, and the database.

use hashbrown::Equivalent;

/// A key and its database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub(super) database: u32,
    pub(super) key: Box<[u8]>,
}

#[derive(PartialEq, Eq, Hash)]
pub(super) struct NameRef<'a> {
    pub(super) database: u32,
    pub(super) key: &'a [u8],
}

impl Equivalent<Name> for NameRef<'_> {
    fn equivalent(&self, name: &Name) -> bool {
        self.database == name.database && *self.key == *name.key
    }
}
