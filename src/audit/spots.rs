//! Some of the keys of a lock.

/// Some keys of a lock, by their places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spots(u64);

impl Spots {
    /// So many keys a lock can have.
    pub(super) const MOST: u8 = 64;

    /// These and one more.
    pub(super) fn with(self, number: u8) -> Self {
        Self(self.0 | 1 << (number % Self::MOST))
    }

    /// The same keys, where each has a place further on by so much.
    pub(super) fn moved_by(self, places: u8) -> Self {
        Self(self.0.wrapping_shl(u32::from(places)))
    }

    /// Whether this one is among them.
    pub(super) fn has(self, number: u8) -> bool {
        self.meet(Self::default().with(number))
    }

    /// Whether a key is among both.
    pub(super) fn meet(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}
