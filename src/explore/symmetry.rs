//! Clients that only their names tell apart: of all worlds that differ by an exchange of such clients, one is kept.

use super::memo::{Memo, Question};
use super::world::World;

/// Which clients may be exchanged.
#[derive(Clone, Debug)]
pub(super) struct Symmetry;

impl Symmetry {
    /// Nobody is exchanged.
    pub(super) fn none() -> Self {
        Self
    }

    /// Replaces a world by the one that is kept for it.
    pub(super) fn settle(&self, memo: &Memo<'_>, world: &mut World<u32, u32>) -> Result<(), Question> {
        let _ = (memo, world);
        Ok(())
    }
}
