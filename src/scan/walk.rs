//! A walk over the keys of a server: which keys, and what counts as the shape of a lock.

use super::glance::glance;
use super::page::{Page, page};
use crate::inspect::{Shapes, Sight};
use crate::wire::{Key, Transcript, Turn};

/// A walk over the keys of a server.
#[derive(Clone, Debug)]
pub struct Walk {
    pattern: Option<Vec<u8>>,
    shapes: Shapes,
}

impl Walk {
    /// A walk over the keys that match this pattern of Redis' (`*`, `?`, `[ab]`), or over all.
    pub fn of(pattern: Option<Vec<u8>>) -> Self {
        Self { pattern, shapes: Shapes::known() }
    }

    /// The keys at this cursor, the first of which is 0. A key may come twice while the server rebuilds its tables.
    ///
    /// # Errors
    /// [`Pending`](crate::wire::Pending): a reply is still to come, or Redis refused.
    pub fn page(&self, cursor: u64, redis: &mut Transcript) -> Turn<Page> {
        page(cursor, self.pattern.as_deref(), redis)
    }

    /// Looks at a key; `None` if what is in it does not look like a lock.
    ///
    /// # Errors
    /// [`Pending`](crate::wire::Pending): a reply is still to come, or Redis refused.
    pub fn glance(&self, key: &Key, redis: &mut Transcript) -> Turn<Option<Sight>> {
        glance(key, &self.shapes, redis)
    }
}
