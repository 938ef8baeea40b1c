//! Who goes where when clients are exchanged.

use super::world::Action;

/// Where each client goes: the one at `place` to [`of(place)`](Self::of).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Places([u8; Self::MOST]);

/// Some of the clients that can be exchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Set(u8);

impl Set {
    /// Whether the client at this place is one of them.
    pub(super) fn has(self, place: usize) -> bool {
        place < Places::MOST && self.0 >> place & 1 == 1
    }

    /// These, and the client at this place if it can be exchanged.
    #[must_use]
    pub(super) fn with(self, place: usize) -> Self {
        if place < Places::MOST { Self(self.0 | 1 << place) } else { self }
    }

    /// These, but not the client at this place.
    #[must_use]
    pub(super) fn without(self, place: usize) -> Self {
        if place < Places::MOST { Self(self.0 & !(1 << place)) } else { self }
    }

    /// These and those.
    #[must_use]
    pub(super) fn with_all(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Whether it holds no place.
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

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

    /// Exchanges where these two go.
    pub(super) fn swap(&mut self, one: usize, other: usize) {
        let (there, other_there) = (self.of(one), self.of(other));
        self.put(one, other_there);
        self.put(other, there);
    }

    /// What tells this exchange from others for a part that names these clients; `None` if all of them stay.
    pub(super) fn key(&self, named: Set) -> Option<u32> {
        let moves = (0..Self::MOST).any(|place| named.has(place) && self.of(place) != place);
        let there = |place: usize| if named.has(place) { u32::from(self.0[place]) } else { 0 };
        moves.then(|| (0..Self::MOST).fold(0, |key, place| key << 3 | there(place)))
    }

    /// The action, of the client that goes there.
    pub(super) fn rename(&self, action: Action) -> Action {
        let there = |who: u8| u8::try_from(self.of(usize::from(who))).unwrap_or(who);
        action.by(there)
    }
}
