//! Who could have written a value: whose hand it is, and at a believable time.

use std::time::Duration;

use super::member::{Member, MigrationKey};
use super::sight::Sight;
use super::token::TokenForm;
use crate::legacy::{Clock, Dialect, Keys, Moment};
use crate::lock::Lease;
use crate::protocols::{self, Generation, Protocol, bridge_stamp_forms, catalogue, end_of_far_stamp};
use crate::wire::{Key, Ttl, UnixTime};

/// A kind of client that could have written the value, and when it would be over by what stands in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Writer {
    pub(super) member: Member,
    pub(super) ends_at: Option<UnixTime>,
}

/// The year 2009, when Redis was first published: no lock is older.
const FIRST: UnixTime = match UnixTime::from_secs(1_230_768_000) {
    Some(moment) => moment,
    None => panic!("2009 is before 2262"),
};

/// Every protocol that could have written this value by now.
///
/// A clock that counts a machine's uptime makes any number believable. Such hands are only named where no other is.
pub(super) fn writers(sight: &Sight, value: &[u8]) -> Vec<Writer> {
    let hands: Vec<_> = catalogue().filter_map(|protocol| Writer::of(protocol, sight, value)).collect();
    // The name of the key says more than a value that many write.
    let by_key: Vec<_> = hands.iter().filter(|writer| writer.is_by_key()).cloned().collect();
    if !by_key.is_empty() {
        return by_key;
    }
    let (certain, vague): (Vec<_>, Vec<_>) = hands.into_iter().partition(|writer| !writer.counts_uptime());
    match (certain.is_empty(), foreign_token(sight)) {
        (false, _) => certain,
        (true, Some(_)) => protocols::find("token").map(Writer::unending).into_iter().collect(),
        (true, None) => vague,
    }
}

/// The form of the value, if it is the token of a program of another project: its key has a TTL.
pub(super) fn foreign_token(sight: &Sight) -> Option<&'static TokenForm> {
    sight.value.as_deref().and_then(TokenForm::of).filter(|_| sight.ttl != Ttl::NO_EXPIRY)
}

/// Whether a bridge has written this into its new key, beside the stamp in the old one.
pub(super) fn is_token_of_bridge(value: &[u8]) -> bool {
    catalogue().any(|protocol| protocol.generation() == Generation::Bridge && protocol.could_write(value))
}

/// The end of the lease, if a bridge has written this stamp: it knows its own by a mark that no old client writes, or by a moment
/// beyond every lease. The same
/// digits are a moment in each unit, and one of these is believable.
fn bridge_stamp(value: &[u8], now: UnixTime) -> Option<UnixTime> {
    let marked = bridge_stamp_forms().filter_map(|form| Some(form.stamp.moment_of(form.read(value)?)));
    marked.chain(end_of_far_stamp(value)).find(|moment| is_believable(*moment, now))
}

/// Whether a lock can end then: not before Redis was published, and not after the longest lease, and a day for a clock
/// that is wrong.
fn is_believable(moment: UnixTime, now: UnixTime) -> bool {
    let last = now.saturating_add(Lease::MAX).saturating_add(Duration::from_secs(86_400));
    FIRST <= moment && moment <= last
}

/// Every protocol that could have written this hash or sorted set.
pub(super) fn writers_of_fields(sight: &Sight) -> Vec<Writer> {
    if is_part_of_lock(&sight.key) {
        return Vec::new();
    }
    let of_type = catalogue().filter(|protocol| protocol.key_type().redis_name() == sight.kind);
    let could = of_type.filter(|protocol| protocol.holders(&sight.fields).is_some());
    could.map(Writer::unending).collect()
}

/// Whether it is the set of readers, or of the places in a queue, of the lock in another key, as in `{stock}:readers`: their members
/// are tokens, as those of a semaphore.
pub(super) fn is_part_of_lock(key: &Key) -> bool {
    [&b":readers"[..], b":places", b":own-places"].iter().any(|suffix| key.as_bytes().ends_with(suffix))
        && key.as_bytes().contains(&b'}')
}

/// Those of the fleet that could have written it, if any could; else all writers: a stranger has written it.
pub(super) fn within(fleet: &[Member], writers: Vec<Writer>, sight: &Sight, place: MigrationKey) -> Vec<Writer> {
    let of_row = |writer: &Writer| {
        let members = fleet.iter().filter(|it| it.old_key().is_none() && it.protocol() == writer.member.protocol());
        let ends_at = writer.ends_at;
        members.map(move |member| Writer { member: member.clone(), ends_at }).collect::<Vec<_>>()
    };
    let by_row = writers.iter().flat_map(of_row);
    let own: Vec<Writer> =
        by_row.chain(fleet.iter().filter_map(|member| Writer::beside_old(member, sight, place))).collect();
    if own.is_empty() { writers } else { own }
}

impl Writer {
    fn unending(protocol: Protocol) -> Self {
        Self { member: protocol.into(), ends_at: None }
    }

    /// This bridge or client behind a guard, if it could have written the value: it writes in one form only.
    fn beside_old(member: &Member, sight: &Sight, place: MigrationKey) -> Option<Self> {
        let (old_key, value) = (member.old_key()?, sight.value.as_deref()?);
        let ends_at = match place {
            MigrationKey::NewKey if is_token_of_bridge(value) && old_key.writes_beside(value) => None,
            MigrationKey::OldKey if old_key.writes(value) => old_key.ends_at(value),
            MigrationKey::NewKey | MigrationKey::OldKey => return None,
        };
        let could = ends_at.is_none_or(|moment| is_believable(moment, sight.at));
        could.then(|| Self { member: member.clone(), ends_at })
    }

    fn of(protocol: Protocol, sight: &Sight, value: &[u8]) -> Option<Self> {
        let (key, now) = (sight.key.as_bytes(), sight.at);
        if let Some(dialect) = protocol.dialect().filter(|dialect| dialect.keys == Keys::OwnerAndExpiry) {
            return Self::of_two_keys(protocol, dialect, key, value);
        }
        if protocol.generation() == Generation::Bridge
            && let Some(ends_at) = bridge_stamp(value, now)
        {
            return Some(Self { member: protocol.into(), ends_at: Some(ends_at) });
        }
        if !protocol.could_write(value) {
            return None;
        }
        match protocol.dialect() {
            Some(dialect) if dialect.form.is_stamped() => Self::of_stamp(protocol, dialect, value, now),
            Some(_) | None => Some(Self::unending(protocol)),
        }
    }

    fn of_stamp(protocol: Protocol, dialect: &Dialect, value: &[u8], now: UnixTime) -> Option<Self> {
        let stamp = dialect.form.stamp;
        let moment = stamp.moment_of(dialect.form.read(value)?);
        let ends_at = match (dialect.clock, stamp.moment) {
            (Clock::Uptime, _) => return Some(Self::unending(protocol)),
            (Clock::Local | Clock::Server, Moment::Acquisition) => None,
            (Clock::Local | Clock::Server, Moment::Expiry) => Some(moment),
        };
        is_believable(moment, now).then(|| Self { member: protocol.into(), ends_at })
    }

    /// Its owner can be any `host:pid`, so the name of the key has to fit. Its stamp stands in a key of its own.
    fn of_two_keys(protocol: Protocol, dialect: &Dialect, key: &[u8], value: &[u8]) -> Option<Self> {
        if key.starts_with(Keys::EXPIRY_PREFIX.as_bytes()) {
            let stamp = dialect.form.stamp;
            let ends_at = Some(stamp.moment_of(stamp.digits.read(value)?));
            return Some(Self { member: protocol.into(), ends_at });
        }
        let is_owner = dialect.key.fits(key) && dialect.form.matches(value);
        is_owner.then(|| Self::unending(protocol))
    }

    /// Whether it was known by the name of the key.
    fn is_by_key(&self) -> bool {
        self.member.protocol().dialect().is_some_and(|dialect| dialect.keys == Keys::OwnerAndExpiry)
    }

    /// Whether only its own host knows when the lock expires.
    pub(super) fn counts_uptime(&self) -> bool {
        self.member.protocol().dialect().is_some_and(|dialect| dialect.clock == Clock::Uptime)
    }
}
