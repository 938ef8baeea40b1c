//! A walk over the keys of a server: which keys, and what counts as the shape of a lock.

use super::glance::{Glance, glance};
use super::page::{Page, page};
use crate::inspect::Shapes;
use crate::wire::{Key, Transcript, Turn};

/// How many keys Redis visits at once: half a millisecond during which it serves no other client.
const MOST: u32 = 1000;

/// A walk over the keys of a server.
#[derive(Clone, Debug)]
pub struct Walk {
    pattern: Option<Vec<u8>>,
    count: u32,
    shapes: Shapes,
}

impl Walk {
    /// A walk over the keys that match this pattern of Redis' (`*`, `?`, `[ab]`), or over all.
    pub fn of(pattern: Option<Vec<u8>>) -> Self {
        Self { pattern, count: MOST, shapes: Shapes::known() }
    }

    /// The same, with no more than about this many keys to a page, a thousand at the most.
    #[must_use]
    pub fn by(self, count: u32) -> Self {
        Self { count: count.clamp(1, MOST), ..self }
    }

    /// How many keys the server visits for a page, whether they match or not.
    pub fn visited_per_page(&self) -> u32 {
        self.count
    }

    /// The keys at this cursor, the first of which is 0. A key may come twice while the server rebuilds its tables.
    ///
    /// # Errors
    /// [`Pending`](crate::wire::Pending): a reply is still to come, or Redis refused.
    pub fn page(&self, cursor: u64, redis: &mut Transcript) -> Turn<Page> {
        page(cursor, self.pattern.as_deref(), self.count, redis)
    }

    /// Looks at a key.
    ///
    /// # Errors
    /// [`Pending`](crate::wire::Pending): a reply is still to come, or Redis refused.
    pub fn glance(&self, key: &Key, redis: &mut Transcript) -> Turn<Glance> {
        glance(key, &self.shapes, redis)
    }
}
