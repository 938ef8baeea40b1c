//! The protocols that a client may speak: each of the catalogue, with each of its settings; and sets of them.

use std::ops::BitAnd;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use super::guarded::GuardedDialect;
use crate::bridge::{Bridge, BridgeStamp};
use crate::guard::Guarded;
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
    /// A client of an old dialect behind a guard.
    Guarded(GuardedDialect),
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
        variants.chain(Self::behind_guards()).collect()
    }

    /// The clients of old dialects behind guards. The catalogue names them by their dialects.
    fn behind_guards() -> impl Iterator<Item = Self> {
        GuardedDialect::all().filter_map(|guarded| {
            let protocol = protocols::find(guarded.dialect().name).ok()?;
            Some(Self { protocol, spoken: VariantSource::Guarded(guarded) })
        })
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
            VariantSource::Guarded(guarded) => guarded.name(),
        }
    }

    /// Whether it is a client behind a guard.
    pub(super) fn is_guarded(&self) -> bool {
        matches!(self.spoken, VariantSource::Guarded(_))
    }

    /// Whether there are clients that speak it. What cannot be guarded is found out at the first question.
    pub(super) fn is_spoken(&self) -> bool {
        match &self.spoken {
            VariantSource::Guarded(guarded) => guarded.is_spoken(),
            VariantSource::Chosen(_) | VariantSource::Bridge { .. } => true,
        }
    }

    /// The protocol. Of a client behind a guard, the one that the client speaks.
    pub(super) fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The row of the old dialects that it is, if it is one. A client behind a guard sends nothing of it to the server.
    pub(super) fn dialect(&self) -> Option<&'static Dialect> {
        self.protocol.dialect().filter(|_| !self.is_guarded())
    }

    /// The old dialect in whose form it writes, if it does.
    pub(super) fn hand(&self) -> Option<&'static Dialect> {
        match &self.spoken {
            VariantSource::Chosen(_) => self.dialect(),
            VariantSource::Bridge { hand, .. } => Some(hand.dialect()),
            VariantSource::Guarded(guarded) => Some(guarded.dialect()),
        }
    }

    /// The form in which it writes into the old key, if it does: a bridge's and a guard's are not quite the dialect's.
    pub(super) fn form(&self) -> Option<Form> {
        match &self.spoken {
            VariantSource::Chosen(_) => self.dialect().map(|dialect| dialect.form),
            VariantSource::Bridge { hand, .. } => Some(hand.form()),
            VariantSource::Guarded(guarded) => guarded.form(),
        }
    }

    /// The form of the first value that it writes, if that names the end of its lease.
    pub(super) fn form_of_lease(&self) -> Option<Form> {
        let form = match &self.spoken {
            VariantSource::Guarded(guarded) => guarded.form(),
            VariantSource::Chosen(_) | VariantSource::Bridge { .. } => self.dialect().map(|dialect| dialect.form),
        };
        form.filter(|form| form.stamp.moment == Moment::Expiry)
    }

    /// The stamp in the value by which its holder knows its lock.
    pub(super) fn stamp_in(&self, held: &[u8]) -> Vec<u8> {
        if self.is_guarded() { Guarded::stamp_in(held) } else { held.to_vec() }
    }

    /// Whether the moment that its value names is the end of its lease.
    pub(super) fn is_timed(&self) -> bool {
        if let VariantSource::Guarded(guarded) = &self.spoken {
            return guarded.is_timed();
        }
        self.dialect().is_some_and(|dialect| match (dialect.keys, dialect.form.stamp.moment, dialect.clock) {
            (Keys::OwnerAndExpiry, _, _) => true,
            (Keys::One, Moment::Expiry, Clock::Local | Clock::Server) => dialect.form.is_stamped(),
            (Keys::One, Moment::Acquisition, _) | (Keys::One, Moment::Expiry, Clock::Uptime) => false,
        })
    }

    /// For how much longer its key lives than its lease.
    pub(super) fn beyond_lease(&self) -> Duration {
        match &self.spoken {
            VariantSource::Guarded(guarded) => guarded.beyond_lease(),
            VariantSource::Chosen(_) | VariantSource::Bridge { .. } => Duration::ZERO,
        }
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
            VariantSource::Guarded(guarded) => {
                let own = [Some(guarded.dialect().form), guarded.form()];
                let is_own = |met: &[u8]| own.iter().flatten().any(|form| form.matches(met));
                guarded.locker(key, lease, met.filter(|met| !is_own(met)).and_then(writer_of))
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
