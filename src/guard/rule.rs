//! A rule of the guard: which protocols share a key, and which stamp keeps them out.

use std::time::Duration;

use super::conclusions::Conclusions;
use super::decision::Decision;
use super::playing;
use super::protocol_run::Opening;
use super::unguardable::Unguardable;
use crate::bridge::{Clocks, Fleet, StampWriter, could_have_written, new_key, stamp_writer};
use crate::legacy::{Clock, Dialect, Keys, Lock, Looks, Moment};
use crate::lock::{Lease, Owner};
use crate::wire::{Key, Reply, Transcript, Turn, UnixTime};

/// Which protocols the clients of a key may speak, proven to be guardable.
#[derive(Clone, Debug)]
pub struct Rule {
    dialects: Vec<&'static Dialect>,
    fleet: Fleet,
    writer: StampWriter,
    lifetime: Lifetime,
    holds_new_key: bool,
    openings: Vec<Opening>,
    conclusions: Conclusions,
}

/// How long a guarded key lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lifetime {
    /// A little longer than its stamp says, so that a key is deleted that no client takes over.
    BeyondStamp,
    /// For ever, as most old clients leave it.
    Endless,
}

impl Lifetime {
    /// How much longer a key lives than its holder may rely on it.
    pub(crate) const BEYOND: Duration = Duration::from_secs(1);
}

impl Rule {
    /// The key on which its protocols run.
    pub(super) const MODEL: &'static str = "k";

    /// The rule for a key whose clients speak these dialects. Each is tried: its own function runs at extreme clocks
    /// on every reply that the guard may choose.
    ///
    /// # Errors
    /// [`Unguardable`]: a dialect cannot be guarded, or no stamp keeps all of them out.
    pub fn new(dialects: &[&'static Dialect], lifetime: Lifetime) -> Result<Self, Unguardable> {
        if dialects.is_empty() {
            return Err(Unguardable::NoProtocol);
        }
        let lease = Lease::new(TRIED_FOR).expect("a minute is a lease");
        let fleet = Fleet::new(dialects, &Key::from(Self::MODEL), lease);
        for member in fleet.members() {
            check(member.dialect())?;
            playing::check(member)?;
        }
        let writer = stamp_writer(&fleet, lease)?;
        let members = fleet.members().iter().enumerate();
        let openings = members.filter_map(|(place, member)| Opening::of(place, member)).collect();
        let rule = Self {
            openings,
            dialects: dialects.to_vec(),
            fleet,
            writer,
            lifetime: Lifetime::BeyondStamp,
            holds_new_key: false,
            conclusions: Conclusions::default(),
        };
        rule.living(lifetime)
    }

    /// The same rule for keys that live so long.
    ///
    /// # Errors
    /// [`Unguardable::NeedsTtl`]: its stamp ends only with its key.
    pub(crate) fn living(self, lifetime: Lifetime) -> Result<Self, Unguardable> {
        if lifetime == Lifetime::Endless && self.writer.outlasts_leases() {
            return Err(Unguardable::NeedsTtl(self.dialects[0].name));
        }
        Ok(Self { lifetime, ..self })
    }

    /// Whether the values of this dialect say for how long its client relies on the lock. Of others no rule can be made.
    #[cfg(feature = "sim")]
    pub(crate) fn reads_lease_of(dialect: &Dialect) -> bool {
        check(dialect).is_ok()
    }

    /// The same rule for a fleet of more dialects, without checking that the stamp keeps them out. The audit uses it to read
    /// what another guard has sent.
    #[cfg(feature = "sim")]
    pub(crate) fn judging_as_well(&self, others: &[&'static Dialect]) -> Self {
        let lease = Lease::new(TRIED_FOR).expect("a minute is a lease");
        let fleet = Fleet::new(&[&self.dialects, others].concat(), &Key::from(Self::MODEL), lease);
        Self { fleet, ..self.clone() }
    }

    /// The form of its stamp.
    #[cfg(feature = "sim")]
    pub(crate) fn form(&self) -> crate::legacy::Form {
        self.writer.form()
    }

    /// The same rule in bridge mode: the guard also holds the [`new_key`], as a [`Bridge`](crate::bridge::Bridge) does, so
    /// that clients of a new lock on that key and guarded ones exclude each other.
    ///
    /// # Errors
    /// [`Unguardable::BridgeNeedsTtl`]: its keys live for ever.
    pub fn bridged(self) -> Result<Self, Unguardable> {
        if !self.has_ttl() {
            return Err(Unguardable::BridgeNeedsTtl);
        }
        Ok(Self { holds_new_key: true, ..self })
    }

    /// Whether it also holds the new key.
    pub fn is_bridged(&self) -> bool {
        self.holds_new_key
    }

    /// Its dialects.
    pub fn dialects(&self) -> &[&'static Dialect] {
        &self.dialects
    }

    /// The key that is held beside this one, in bridge mode.
    pub(super) fn key_beside(&self, key: &Key) -> Option<Key> {
        self.holds_new_key.then(|| new_key(key))
    }

    /// The protocols of its dialects, on a key named [`MODEL`](Self::MODEL): what they conclude does not depend on the name.
    pub(super) fn members(&self) -> &[Lock] {
        self.fleet.members()
    }

    /// How its protocols begin.
    pub(super) fn openings(&self) -> &[Opening] {
        &self.openings
    }

    /// Whether this reply leads the client that speaks this protocol to the decision at any clock.
    pub(super) fn leads(
        &self,
        member: usize,
        transcript: &Transcript,
        reply: Reply,
        decided: Option<Decision>,
    ) -> bool {
        self.conclusions.of(member, transcript, reply, decided, |transcript, reply| {
            playing::leads(&self.members()[member], transcript, reply, decided)
        })
    }

    /// Reads the clocks of which its clients make stamps: that of the host, which is theirs too, and the server's if a
    /// dialect uses it.
    pub(super) fn clocks(&self, redis: &mut Transcript) -> Turn<Clocks> {
        self.fleet.clocks(redis)
    }

    /// How much longer a client relies on the lock that has written this value: not at all if it was held up for longer
    /// than its lease between reading its clock and now; `None` if this dialect could not have
    /// written it by now.
    pub(super) fn remaining(&self, member: &Lock, value: &[u8], clocks: &Clocks) -> Option<Duration> {
        if !could_have_written(member, value, clocks) {
            return None;
        }
        let now = clocks.of(member.dialect()).wall;
        // The client has rounded its clock to a unit, and counts its lease from the clock as it was.
        let stamp = &member.dialect().form.stamp;
        let end = member.dialect().expires_at(value)?;
        if end < now {
            return Some(Duration::ZERO);
        }
        Some((end.saturating_since(now) + stamp.unit.length()).saturating_sub(stamp.margin))
    }

    /// How the fleet judges a value at this moment of the server's clock.
    pub(super) fn looks(&self, value: &[u8], at: UnixTime) -> Looks {
        self.fleet.looks(value, &Clocks::at(at))
    }

    /// Whether the fleet takes a lock with this value over at this moment.
    pub fn takes_over(&self, value: &[u8], at: UnixTime) -> bool {
        self.looks(value, at) == Looks::Expired
    }

    /// The stamp that keeps the fleet out for this long from a moment of the server's clock.
    pub(super) fn stamp(&self, owner: &Owner, length: Duration, at: UnixTime) -> Option<Vec<u8>> {
        self.writer.write_for(owner, length, &self.fleet, &Clocks::at(at))
    }

    /// The time to live of a key whose holder relies on it for this long, in milliseconds; `None` if it lives for ever. In
    /// bridge mode both keys end with the lease, as those of a bridge do: while the new key exists, no other client acquires.
    pub(super) fn ttl_ms(&self, length: Duration) -> Option<u128> {
        match (self.lifetime, self.holds_new_key) {
            (_, true) => Some(length.as_nanos().div_ceil(1_000_000)),
            (Lifetime::BeyondStamp, false) => Some((length + Lifetime::BEYOND).as_millis()),
            (Lifetime::Endless, false) => None,
        }
    }

    /// Whether its keys expire.
    pub(super) fn has_ttl(&self) -> bool {
        self.lifetime == Lifetime::BeyondStamp
    }
}

/// The lease of the trials.
const TRIED_FOR: Duration = Duration::from_secs(60);

/// Whether the dialect's values say how long its client relies on the lock.
fn check(dialect: &Dialect) -> Result<(), Unguardable> {
    match (dialect.keys, dialect.clock, dialect.form.stamp.moment) {
        (Keys::OwnerAndExpiry, _, _) => Err(Unguardable::TwoKeys(dialect.name)),
        (Keys::One, Clock::Uptime, _) => Err(Unguardable::Uptime(dialect.name)),
        (Keys::One, _, _) if !dialect.form.is_stamped() => Err(Unguardable::NoStamp(dialect.name)),
        (Keys::One, _, Moment::Acquisition) => Err(Unguardable::AcquisitionTime(dialect.name)),
        (Keys::One, Clock::Local | Clock::Server, Moment::Expiry) => Ok(()),
    }
}
