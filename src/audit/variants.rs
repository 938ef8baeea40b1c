//! The protocols that a client may speak: each of the catalogue, with each of its settings; and sets of them.

use std::ops::BitAnd;
use std::sync::{Arc, LazyLock};

use crate::bridge::{Bridge, BridgeStamp};
use crate::legacy::{self, Clock, Dialect, Form, Keys, Moment};
use crate::lock::{Lease, Locker};
use crate::protocols::{self, Choice, Generation, Protocol};
use crate::wire::Key;

/// A protocol with its settings.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    protocol: Protocol,
    spoken: VariantSource,
}

/// Which protocol it is.
#[derive(Clone, Debug)]
enum VariantSource {
    /// A protocol of the catalogue.
    Chosen(Choice),
    /// A bridge that writes as this dialect does. Which other dialects it excludes is not visible on the wire.
    Bridge { hand: BridgeStamp, is_fenced: bool },
}

/// Number of words of a set: 64 variants fit into each.
const WORDS: usize = 8;

/// A set of variants, by their indexes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct VariantSet([u64; WORDS]);

impl Variant {
    /// All of them, the catalogue's order.
    pub(super) fn all() -> &'static [Self] {
        static ALL: LazyLock<Vec<Variant>> = LazyLock::new(Variant::of_the_catalogue);
        &ALL
    }

    fn of_the_catalogue() -> Vec<Self> {
        let variants = protocols::catalogue().flat_map(|protocol| match protocol.generation() {
            Generation::Legacy | Generation::Modern => Self::of(protocol),
            Generation::Bridge => Self::bridges(protocol),
        });
        variants.collect()
    }

    /// A protocol as it is, and with each word of each of its settings.
    fn of(protocol: Protocol) -> Vec<Self> {
        let plain = protocol.name().to_owned();
        let settings = protocol.settings().iter();
        let set = settings.flat_map(|it| it.alternatives().iter().map(|word| format!("{},{}={word}", plain, it.name)));
        let written = [plain.clone()].into_iter().chain(set);
        let chosen = written.filter_map(|written| written.parse().ok());
        chosen.map(|choice| Self { protocol, spoken: VariantSource::Chosen(choice) }).collect()
    }

    /// A bridge for each form in which dialects write, with a fence and without. The one of the catalogue stands for all
    /// that write the same form.
    fn bridges(protocol: Protocol) -> Vec<Self> {
        let mut hands: Vec<&'static Dialect> = Vec::new();
        let named = legacy::find(protocol.name().trim_start_matches(BRIDGE));
        let dialects = named.into_iter().chain(protocols::catalogue().filter_map(Protocol::dialect));
        for dialect in dialects.filter(|dialect| dialect.keys == Keys::One) {
            if !hands.iter().any(|hand| looks_the_same(&hand.form, &dialect.form)) {
                hands.push(dialect);
            }
        }
        let bridge = |hand, is_fenced| Self {
            protocol,
            spoken: VariantSource::Bridge { hand: BridgeStamp::of(hand), is_fenced },
        };
        hands.into_iter().flat_map(|hand| [bridge(hand, false), bridge(hand, true)]).collect()
    }

    /// Its name, without settings.
    pub(super) fn name(&self) -> String {
        match &self.spoken {
            VariantSource::Chosen(_) => self.protocol.name().to_owned(),
            VariantSource::Bridge { hand, .. } => format!("{BRIDGE}{}", hand.dialect().name),
        }
    }

    /// The protocol.
    pub(super) fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The row of the old dialects that it is, if it is one.
    pub(super) fn dialect(&self) -> Option<&'static Dialect> {
        self.protocol.dialect()
    }

    /// The old dialect in whose form it writes, if it does.
    pub(super) fn hand(&self) -> Option<&'static Dialect> {
        match self.spoken {
            VariantSource::Chosen(_) => self.dialect(),
            VariantSource::Bridge { hand, .. } => Some(hand.dialect()),
        }
    }

    /// The form in which it writes into the old key, if it does: a bridge's is not quite the dialect's.
    pub(super) fn form(&self) -> Option<Form> {
        match self.spoken {
            VariantSource::Chosen(_) => self.dialect().map(|dialect| dialect.form),
            VariantSource::Bridge { hand, .. } => Some(hand.form()),
        }
    }

    /// Whether the moment that its value names is the end of its lease.
    pub(super) fn is_timed(&self) -> bool {
        self.dialect().is_some_and(|dialect| match (dialect.keys, dialect.form.stamp.moment, dialect.clock) {
            (Keys::OwnerAndExpiry, _, _) => true,
            (Keys::One, Moment::Expiry, Clock::Local | Clock::Server) => dialect.form.is_stamped(),
            (Keys::One, Moment::Acquisition, _) | (Keys::One, Moment::Expiry, Clock::Uptime) => false,
        })
    }

    /// Whether its value names the moment of the acquisition.
    pub(super) fn names_beginning(&self) -> bool {
        let begins = |form: &Form| form.is_stamped() && form.stamp.moment == Moment::Acquisition;
        self.dialect().is_some_and(|dialect| begins(&dialect.form))
    }

    /// Whether several holders may share it: a read/write lock, or a semaphore.
    pub(super) fn is_shared(&self) -> bool {
        self.protocol.may_be_shared()
    }

    /// Its lock on a key, where it found this value: a bridge takes over only values that it knows.
    pub(super) fn locker(&self, key: Key, lease: Lease, met: Option<&[u8]>) -> Arc<dyn Locker> {
        match &self.spoken {
            VariantSource::Chosen(choice) => choice.locker(key, lease),
            VariantSource::Bridge { hand, is_fenced } => {
                let writer = met.filter(|met| !hand.form().matches(met)).and_then(writer_of);
                let bridge = Bridge::unproven(hand, writer.as_slice(), key, lease);
                Arc::new(if *is_fenced { bridge.fenced() } else { bridge })
            }
        }
    }
}

/// What every bridge's name begins with.
const BRIDGE: &str = "bridge:";

/// Whether the values of a bridge in these forms look the same. In place of a constant it writes its token.
fn looks_the_same(one: &Form, other: &Form) -> bool {
    let written = |form: &Form| (form.parts, form.is_stamped().then_some((form.stamp.unit, form.stamp.digits)));
    let is_constant = |form: &Form| !form.tells_apart();
    is_constant(one) && is_constant(other) || written(one) == written(other)
}

/// A dialect that could have written this.
fn writer_of(value: &[u8]) -> Option<&'static Dialect> {
    protocols::catalogue().filter_map(Protocol::dialect).find(|dialect| dialect.form.matches(value))
}

impl VariantSet {
    /// The first variants, this many.
    pub(super) fn first(count: usize) -> Self {
        (0..count).fold(Self::default(), Self::with)
    }

    /// These and one more.
    pub(super) fn with(mut self, place: usize) -> Self {
        self.0[place / 64] |= 1 << (place % 64);
        self
    }

    /// Whether it is empty.
    pub(super) fn is_empty(self) -> bool {
        self.0 == [0; WORDS]
    }

    /// Whether some of them are among the others.
    pub(super) fn meets(&self, other: &Self) -> bool {
        // Without a branch for each word.
        self.0.iter().zip(&other.0).fold(0, |met, (word, mask)| met | word & mask) != 0
    }

    /// These and those.
    pub(super) fn or(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(word, more)| *word |= more);
        self
    }

    /// Those of them that are among the others, too; or the others, if none is.
    pub(super) fn narrowed_to(self, others: Self) -> Self {
        let both = self & others;
        if both.is_empty() { others } else { both }
    }

    /// All of them.
    pub(super) fn iter(self) -> impl Iterator<Item = &'static Variant> {
        self.indexes().map(|index| &Variant::all()[index])
    }

    /// The indexes of all.
    pub(super) fn indexes(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(word, mut bits)| {
            std::iter::from_fn(move || {
                let place = (bits != 0).then(|| 64 * word + bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(place)
            })
        })
    }
}

impl BitAnd for VariantSet {
    type Output = Self;

    fn bitand(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(word, mask)| *word &= mask);
        self
    }
}

#[test]
fn every_protocol_has_a_place() {
    let variants = Variant::all();
    assert!(variants.len() < 64 * WORDS, "{} variants do not fit", variants.len());
    for protocol in protocols::catalogue() {
        assert!(variants.iter().any(|variant| variant.protocol() == protocol), "{}", protocol.name());
    }
    let all = VariantSet::first(variants.len());
    assert_eq!(all.indexes().count(), variants.len());
    assert_eq!((all & VariantSet::default().with(70)).indexes().collect::<Vec<_>>(), [70]);
}
