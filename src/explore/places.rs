//! Who goes where when clients are exchanged.

use super::world::Action;

/// Where each client goes: the one at `place` to [`of(place)`](Self::of).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Places([u8; Self::MOST]);

impl Places {
    /// Clients beyond these are never exchanged.
    pub(super) const MOST: usize = 8;

    /// Every client stays.
    pub(super) const fn same() -> Self {
        Self([0, 1, 2, 3, 4, 5, 6, 7])
    }

    /// Where the client at this place goes.
    pub(super) fn of(&self, place: usize) -> usize {
        self.0.get(place).map_or(place, |there| usize::from(*there))
    }

    /// The client at this place goes there.
    pub(super) fn put(&mut self, place: usize, there: usize) {
        if let (Some(at), Ok(there)) = (self.0.get_mut(place), u8::try_from(there)) {
            *at = there;
        }
    }

    /// The way back.
    pub(super) fn inverse(&self) -> Self {
        let mut inverse = Self::same();
        (0..Self::MOST).for_each(|place| inverse.put(self.of(place), place));
        inverse
    }

    /// These, and after them those.
    pub(super) fn then(&self, next: &Self) -> Self {
        let mut both = Self::same();
        (0..Self::MOST).for_each(|place| both.put(place, next.of(self.of(place))));
        both
    }

    /// The action, of the client that goes there.
    pub(super) fn rename(&self, action: Action) -> Action {
        let there = |who: u8| u8::try_from(self.of(usize::from(who))).unwrap_or(who);
        action.by(there)
    }
}
