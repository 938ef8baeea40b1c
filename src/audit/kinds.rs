//! Everybody who may be speaking: each protocol of the catalogue, with each of its settings; and sets of them.

use std::ops::BitAnd;
use std::sync::Arc;

use crate::legacy::{Clock, Dialect, Moment};
use crate::lock::{Lease, Locker};
use crate::protocols::{self, Choice, Protocol};
use crate::wire::Key;

/// One who may be speaking.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    choice: Choice,
}

/// At most so many kinds can be told apart.
const MOST: usize = 64 * WORDS;
const WORDS: usize = 4;

/// A set of kinds, by their places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Kinds([u64; WORDS]);

impl Kind {
    /// All of them, the catalogue's order.
    pub(super) fn all() -> Vec<Self> {
        let kinds = protocols::catalogue().flat_map(Self::of);
        kinds.take(MOST).collect()
    }

    /// A protocol as it is, and with each word of each of its settings.
    fn of(protocol: Protocol) -> Vec<Self> {
        let plain = protocol.name().to_owned();
        let settings = protocol.settings().iter();
        let set = settings.flat_map(|it| it.words.iter().skip(1).map(|word| format!("{},{}={word}", plain, it.name)));
        let written = [plain.clone()].into_iter().chain(set);
        written.filter_map(|written| written.parse().ok()).map(|choice| Self { choice }).collect()
    }

    /// The protocol.
    pub(super) fn protocol(&self) -> Protocol {
        self.choice.protocol()
    }

    /// The row of the old dialects that it is, if it is one.
    pub(super) fn dialect(&self) -> Option<&'static Dialect> {
        self.choice.protocol().dialect()
    }

    /// Whether its value names the moment at which the lock is over.
    pub(super) fn names_end(&self) -> bool {
        let ends = |dialect: &Dialect| dialect.form.stamp.moment == Moment::Expiry && dialect.clock != Clock::Uptime;
        self.dialect().is_some_and(|dialect| dialect.form.is_stamped() && ends(dialect))
    }

    /// Whether its value names the moment at which the lock was taken.
    pub(super) fn names_beginning(&self) -> bool {
        self.dialect()
            .is_some_and(|dialect| dialect.form.is_stamped() && dialect.form.stamp.moment == Moment::Acquisition)
    }

    /// Whether it is one side of a read/write lock.
    pub(super) fn is_read_write(&self) -> bool {
        self.protocol().settings().iter().any(|setting| setting.name == "side")
    }

    /// Its lock on a key.
    pub(super) fn locker(&self, key: Key, lease: Lease) -> Arc<dyn Locker> {
        self.choice.locker(key, lease)
    }
}

impl Kinds {
    /// So many, all.
    pub(super) fn first(count: usize) -> Self {
        (0..count).fold(Self::default(), Self::with)
    }

    /// These and one more.
    pub(super) fn with(mut self, place: usize) -> Self {
        self.0[place / 64] |= 1 << (place % 64);
        self
    }

    /// Whether there are none.
    pub(super) fn is_empty(self) -> bool {
        self.0 == [0; WORDS]
    }

    /// These and those.
    pub(super) fn or(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(word, more)| *word |= more);
        self
    }

    /// The places of all.
    pub(super) fn places(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(word, mut bits)| {
            std::iter::from_fn(move || {
                let place = (bits != 0).then(|| 64 * word + bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(place)
            })
        })
    }
}

impl BitAnd for Kinds {
    type Output = Self;

    fn bitand(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(word, mask)| *word &= mask);
        self
    }
}

#[test]
fn every_protocol_has_a_place() {
    let kinds = Kind::all();
    assert!(kinds.len() < MOST, "{} kinds do not fit", kinds.len());
    for protocol in protocols::catalogue() {
        assert!(kinds.iter().any(|kind| kind.protocol() == protocol), "{}", protocol.name());
    }
    let all = Kinds::first(kinds.len());
    assert_eq!(all.places().count(), kinds.len());
    assert_eq!((all & Kinds::default().with(70)).places().collect::<Vec<_>>(), [70]);
}
