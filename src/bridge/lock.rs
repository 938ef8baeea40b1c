//! The bridge lock.

use std::time::Duration;

use super::fleet::{Clocks, Fleet};
use super::scripts::{self, AcquireReply, OldKeyState, ScriptArgs};
use super::stamp_writer::StampWriter;
use super::trial;
use super::unbridgeable::{StolenStamp, Unbridgeable};
use crate::legacy::{Clock, Dialect, Form, Keys, Lock, Looks};
use crate::lock::{
    Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Owner, Ownership, Refusal, Released, Token,
};
use crate::wire::{Key, Pending, Transcript, Turn, UnixTime};

/// The new key beside an old one, in the same hash slot: `{invoices}:token` for `invoices`. Clients of the
/// token lock alone use this key in every phase in which they meet a bridge.
pub fn new_key(old: &Key) -> Key {
    old.sibling("token")
}

/// Whether this is the new key of some old one, by its name.
pub(crate) fn is_new_key(key: &Key) -> bool {
    key.as_bytes().strip_suffix(b":token").is_some_and(|begin| new_key(&Key::new(begin.to_vec())) == *key)
}

/// A lock on two keys at once: the old one with a stamp that a fleet of old clients respects, and the new one.
#[derive(Clone, Debug)]
pub struct Bridge {
    old: Key,
    new: Key,
    counter: Option<Key>,
    lease: Lease,
    fleet: Fleet,
    writer: StampWriter,
    /// How far the clocks of old clients may differ from this one.
    skew: Duration,
}

impl Bridge {
    /// A bridge from the old clients of these dialects, which share `key`, to the new clients on its [`new_key`], with this
    /// lease in whole milliseconds.
    ///
    /// The stamp is chosen by trial: each dialect's protocol runs against each candidate stamp, early and late in the lease.
    ///
    /// # Errors
    /// [`Unbridgeable`]: no stamp keeps the whole fleet out (with the values that show it); one of the dialects has a stamp
    /// that no other client can write; or two dialects take over each other's locks while they are held, which can also
    /// break a bridge's lock. [`accepting_double_holds`](Self::accepting_double_holds) bridges such a fleet.
    pub fn new(fleet: &[&'static Dialect], key: Key, lease: Lease) -> Result<Self, Unbridgeable> {
        let bridge = Self::accepting_double_holds(fleet, key, lease)?;
        let stolen = stolen_within(&bridge.fleet);
        if stolen.is_empty() { Ok(bridge) } else { Err(Unbridgeable::NotExclusive(stolen)) }
    }

    /// A bridge like [`new`](Self::new), also for a fleet whose dialects do not exclude each other. Two of its old
    /// clients can hold at once, with the bridge or without it; and a release or a renewal by one
    /// of them can then let another client acquire beside a bridge.
    ///
    /// # Errors
    /// [`Unbridgeable`], except [`Unbridgeable::NotExclusive`].
    pub fn accepting_double_holds(fleet: &[&'static Dialect], key: Key, lease: Lease) -> Result<Self, Unbridgeable> {
        if fleet.is_empty() {
            return Err(Unbridgeable::EmptyFleet);
        }
        for dialect in fleet {
            match (dialect.keys, dialect.clock) {
                (Keys::OwnerAndExpiry, _) => return Err(Unbridgeable::TwoKeys(dialect.name)),
                (Keys::One, Clock::Uptime) => return Err(Unbridgeable::Uptime(dialect.name)),
                (Keys::One, Clock::Local | Clock::Server) => {}
            }
        }
        let lease = lease.rounded_up_to(Duration::from_millis(1));
        let fleet = Fleet::new(fleet, &key, lease);
        let writer = stamp_writer(&fleet, lease)?;
        Ok(Self { new: new_key(&key), old: key, counter: None, lease, fleet, writer, skew: Duration::ZERO })
    }

    /// A bridge that writes this stamp, for a fleet of its dialect and others, without checking that the stamp keeps them
    /// out. The audit uses it to read what another bridge has written.
    #[cfg(feature = "sim")]
    pub(crate) fn unproven(stamp: &BridgeStamp, others: &[&'static Dialect], key: Key, lease: Lease) -> Self {
        let lease = lease.rounded_up_to(Duration::from_millis(1));
        let fleet = Fleet::new(&[&[stamp.dialect()], others].concat(), &key, lease);
        Self { new: new_key(&key), old: key, counter: None, lease, fleet, writer: stamp.0, skew: Duration::ZERO }
    }

    /// Issues a fence: a number that grows with every acquisition by a bridge, or by a
    /// [`FencedTokenLock`](crate::modern::FencedTokenLock) on the new key. Old clients have no fence.
    #[must_use]
    pub fn fenced(self) -> Self {
        Self { counter: Some(self.new.sibling("fence")), ..self }
    }

    /// Stays exclusive while the clocks of old clients differ from this client's by at most `skew`, in either direction:
    /// writes stamps that are later by it, and takes over an old client's stamp only when it has expired for that long.
    /// Between old clients nothing changes.
    ///
    /// The TTL of both keys stays one lease, so a bridge that crashes keeps no client out for longer, unless an old client
    /// has written the stamp back without a TTL. An old client that crashes keeps bridges out for longer, by `skew`.
    ///
    /// # Errors
    /// [`Unbridgeable::NoStamp`]: a dialect takes over a stamp that is so far in the future.
    pub fn tolerating_skew(self, skew: Duration) -> Result<Self, Unbridgeable> {
        if skew.is_zero() {
            return Ok(self);
        }
        let writer = self.writer.tolerating_skew(skew);
        let readers = [Clocks::behind, Clocks::ahead].map(|reader| move |clocks: &Clocks| reader(clocks, skew));
        let find =
            |lease| readers.iter().find_map(|reader| find_stolen_as_read_at(&self.fleet, &writer, lease, reader));
        match tried_leases(self.lease).find_map(find) {
            Some(stolen) => Err(Unbridgeable::NoStamp(vec![stolen])),
            None => Ok(Self { writer, skew, ..self }),
        }
    }

    /// The dialect in whose form the stamp is written.
    pub fn stamp_of(&self) -> &'static Dialect {
        self.writer.of
    }

    /// The stamp that it writes into the old key for a lease that begins at this moment, by a clock that agrees with the
    /// server's. A token in it is that of `owner`.
    pub fn stamp(&self, owner: &Owner, begins: UnixTime) -> Vec<u8> {
        self.writer.write(owner, self.lease, &self.fleet, &Clocks::at(begins))
    }

    /// The form of its stamp, and whether it is further in the future than any lease.
    pub(super) fn stamp_form(&self) -> (Form, bool) {
        (self.writer.form, self.writer.is_far())
    }

    /// Runs the acquiring script once; it replaces the old key only if it is missing or holds the value judged `expired`.
    fn try_both_keys(
        &self,
        owner: &Owner,
        clocks: &Clocks,
        expired: Option<&[u8]>,
        redis: &mut Transcript,
    ) -> Turn<Result<Hold, AcquireReply>> {
        let stamp = self.writer.write(owner, self.lease, &self.fleet, clocks);
        let token = owner.token.hex();
        let keys: Vec<&Key> = [&self.new, &self.old].into_iter().chain(&self.counter).collect();
        let args = ScriptArgs { keys: &keys, token: token.as_bytes(), lease_ms: &self.lease_ms(), stamp: &stamp };
        Ok(match scripts::acquire(redis, &args, expired)? {
            AcquireReply::Won(count) => Ok(Hold {
                value: [token.as_bytes(), b":", &stamp].concat(),
                since: clocks.host,
                lease: self.lease,
                fence: self.counter.is_some().then_some(count),
            }),
            refused => Err(refused),
        })
    }

    fn lease_ms(&self) -> Vec<u8> {
        self.lease.length().as_millis().to_string().into_bytes()
    }

    /// The value of the old key, if it is a string.
    fn old_value(&self, redis: &mut Transcript) -> Turn<Option<Vec<u8>>> {
        match redis.get(&self.old) {
            Err(Pending::Fault(fault)) if fault.code() == Some("WRONGTYPE") => Ok(None),
            turn => turn,
        }
    }
}

/// The stamp that a bridge to one dialect writes.
#[cfg(feature = "sim")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct BridgeStamp(StampWriter);

#[cfg(feature = "sim")]
impl BridgeStamp {
    /// The stamp of a bridge to this dialect alone.
    pub(crate) fn of(dialect: &'static Dialect) -> Self {
        let lease = Lease::new(TRIED_FOR).expect("a minute is a lease");
        let fleet = Fleet::new(&[dialect], &Key::from("k"), lease);
        let plain = StampWriter::in_form_of(dialect);
        Self(plain.unmistakable().find(|other| are_judged_the_same(&fleet, &plain, other, lease)).unwrap_or(plain))
    }

    /// The dialect in whose form it is written.
    pub(crate) fn dialect(&self) -> &'static Dialect {
        self.0.of
    }

    /// The written form.
    pub(crate) fn form(&self) -> crate::legacy::Form {
        self.0.form
    }
}

impl Locker for Bridge {
    /// The old key: what the whole fleet contends for.
    fn key(&self) -> &Key {
        &self.old
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let clocks = self.fleet.clocks(redis)?;
        let refused = match self.try_both_keys(owner, &clocks, None, redis)? {
            Ok(hold) => return Ok(Acquired::Won(hold)),
            Err(refused) => refused,
        };
        let AcquireReply::OldKeyHolds(value) = refused else {
            return Ok(Acquired::Held(self.held(Refusal::Live, refused, &clocks)));
        };
        let clocks = self.fleet.clocks(redis)?;
        let reason = match self.fleet.looks(&value, &clocks.behind(self.skew)) {
            Looks::Expired => match self.try_both_keys(owner, &clocks, Some(&value), redis)? {
                Ok(hold) => return Ok(Acquired::Won(hold)),
                Err(refused) => return Ok(Acquired::Held(self.held(Refusal::LostTakeover, refused, &clocks))),
            },
            Looks::Live => Refusal::Live,
            Looks::Raised => Refusal::Unreadable,
        };
        Ok(Acquired::Held(self.held(reason, AcquireReply::OldKeyHolds(value), &clocks)))
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let (token, _) = parts(&hold.value);
        Ok(match scripts::release(redis, &[&self.new, &self.old], token)? {
            OldKeyState::Unchanged => Released::Freed,
            OldKeyState::Changed => Released::Intruded,
            OldKeyState::Lost => Released::Lost,
        })
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::Harmless
    }

    fn release_is_repeatable(&self) -> bool {
        true
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        let clocks = self.fleet.clocks(redis)?;
        let (token, stamp) = parts(&hold.value);
        let stamp = self.writer.rewrite(stamp, self.lease, &self.fleet, &clocks);
        let args = ScriptArgs { keys: &[&self.new, &self.old], token, lease_ms: &self.lease_ms(), stamp: &stamp };
        let found = scripts::extend(redis, &args)?;
        let value = [token, b":", &stamp].concat();
        let hold = Hold { value, since: clocks.host, lease: self.lease, fence: hold.fence };
        Ok(match found {
            OldKeyState::Unchanged => Extended::Until(hold),
            OldKeyState::Changed => Extended::Intruded(hold),
            OldKeyState::Lost => Extended::Lost,
        })
    }

    /// Reads the TTL first and the token second, as the token lock does, and the old key last.
    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        let left = redis.pttl(&self.new)?.left_of_millis();
        let held = redis.get(&self.new)?;
        let found = self.old_value(redis)?;
        let (token, _) = parts(&hold.value);
        Ok(match held {
            None if found.is_none() => Ownership::Free,
            Some(held) if parts(&held).0 == token => match found {
                Some(found) if parts(&held).1 == found => Ownership::Ours { left },
                Some(_) | None => Ownership::Intruded { left },
            },
            Some(_) | None => Ownership::Theirs,
        })
    }

    /// The new key records the value written into the old one, so both can be released without the result of the attempt.
    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        scripts::release(redis, &[&self.new, &self.old], owner.token.hex().as_bytes()).map(drop)
    }
}

impl Bridge {
    fn held(&self, reason: Refusal, refused: AcquireReply, clocks: &Clocks) -> Held {
        match refused {
            AcquireReply::Won(_) | AcquireReply::OldKeyNotString => Held::because(Refusal::Unreadable),
            AcquireReply::NewKeyHeld(left_ms) => {
                Held { retry_in: u64::try_from(left_ms).ok().map(Duration::from_millis), ..Held::because(reason) }
            }
            AcquireReply::OldKeyHolds(value) => {
                let retry_in = self.fleet.left_of(&value, &clocks.behind(self.skew));
                Held { retry_in, seen: Some(value), ..Held::because(reason) }
            }
        }
    }
}

/// Splits the value of the new key into the holder's token and the stamp that it wrote into the old key.
pub(super) fn parts(value: &[u8]) -> (&[u8], &[u8]) {
    let colon = value.iter().position(|byte| *byte == b':').unwrap_or(value.len());
    (&value[..colon], value.get(colon + 1..).unwrap_or_default())
}

/// The moment of the trials, at the start of a second; [`FRACTIONS`] are added to it.
pub(super) const TRIED_AT: UnixTime = match UnixTime::from_secs(1_800_000_000) {
    Some(moment) => moment,
    None => panic!("2027 is before 2262"),
};
/// The lease of the trials.
pub(super) const TRIED_FOR: Duration = Duration::from_secs(60);
const FRACTIONS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(500), Duration::from_micros(999_999)];

/// The first stamp that the whole fleet respects; in a form that no old client writes, if the fleet treats it the same.
pub(crate) fn stamp_writer(fleet: &Fleet, lease: Lease) -> Result<StampWriter, Unbridgeable> {
    let first_stolen = |writer: &StampWriter| tried_leases(lease).find_map(|lease| find_stolen(fleet, writer, lease));
    let mut stolen = Vec::new();
    for writer in StampWriter::candidates(fleet) {
        match first_stolen(&writer) {
            None => {
                let is_usable = |other: &StampWriter| {
                    are_judged_the_same(fleet, &writer, other, lease) && first_stolen(other).is_none()
                };
                return Ok(writer.unmistakable().find(is_usable).unwrap_or(writer));
            }
            Some(by) => stolen.push(by),
        }
    }
    Err(Unbridgeable::NoStamp(stolen))
}

/// The leases for which a stamp is tried. A lease below a second is also tried as a second: its holder may rely on so little
/// of it that the trial would find nothing.
fn tried_leases(lease: Lease) -> impl Iterator<Item = Lease> {
    let second = Lease::new(Duration::from_secs(1)).expect("a second is a valid lease");
    [lease].into_iter().chain((lease.length() < second.length()).then_some(second))
}

/// Whether every dialect judges the stamps of both writers the same while the lease runs.
fn are_judged_the_same(fleet: &Fleet, one: &StampWriter, other: &StampWriter, lease: Lease) -> bool {
    let owner = Owner::new(Token::new([0xd7; 16]), 1, 1);
    let begin = Clocks::at(TRIED_AT);
    let values = [one, other].map(|writer| writer.write(&owner, lease, fleet, &begin));
    [Duration::ZERO, lease.validity() / 2, lease.validity()].into_iter().all(|elapsed| {
        let clocks = begin.after(elapsed);
        let looks = |member: &Lock, value: &[u8]| member.looks(value, clocks.of(member.dialect()));
        fleet.members().iter().all(|member| looks(member, &values[0]) == looks(member, &values[1]))
    })
}

/// The dialects of the fleet that take over another dialect's lock during its lease of a minute: an example for each pair.
fn stolen_within(fleet: &Fleet) -> Vec<StolenStamp> {
    let mut stolen: Vec<StolenStamp> = Vec::new();
    for writer in fleet.members().iter().map(Lock::dialect) {
        for other in fleet.members().iter().filter(|other| other.dialect().name != writer.name) {
            let example = trials(writer.form.names_token()).find_map(|(begin, owner)| {
                let now = begin.of(writer).wall;
                let value = writer.form.write(writer.form.stamp.at(now, TRIED_FOR), &owner);
                let early = [Duration::ZERO, TRIED_FOR / 2];
                early.into_iter().any(|elapsed| !trial::respects(other, &value, &begin.after(elapsed))).then_some(value)
            });
            let by = other.dialect().name;
            stolen.extend(example.map(|value| StolenStamp { value, form_of: writer.name, by }));
        }
    }
    stolen
}

/// When a value is written in a trial, and by whom: at each of the [`FRACTIONS`] of a second; and where the value names its
/// token, at the start of the second with every first byte, because some readers see a number at the head of a token.
pub(super) fn trials(names_token: bool) -> impl Iterator<Item = (Clocks, Owner)> {
    let heads = if names_token { 0..=u8::MAX } else { 0..=0 };
    let fractions = FRACTIONS.into_iter().map(|fraction| (fraction, 0));
    fractions.chain(heads.map(|head| (Duration::ZERO, head))).map(|(fraction, head)| {
        let mut token = [0xd7; 16];
        token[0] = head;
        (Clocks::at(TRIED_AT.saturating_add(fraction)), Owner::new(Token::new(token), 1, 1))
    })
}

/// A stamp of this writer that a dialect takes over while the lease runs.
fn find_stolen(fleet: &Fleet, writer: &StampWriter, lease: Lease) -> Option<StolenStamp> {
    find_stolen_as_read_at(fleet, writer, lease, |clocks| *clocks)
}

/// The same where old clients read other clocks than the writer.
fn find_stolen_as_read_at(
    fleet: &Fleet,
    writer: &StampWriter,
    lease: Lease,
    reader: impl Fn(&Clocks) -> Clocks,
) -> Option<StolenStamp> {
    for (begin, owner) in trials(writer.form.names_token()) {
        let value = writer.write(&owner, lease, fleet, &begin);
        for elapsed in [Duration::ZERO, lease.validity() / 2, lease.validity()] {
            let clocks = reader(&begin.after(elapsed));
            let taker = fleet.members().iter().find(|member| !trial::respects(member, &value, &clocks));
            if let Some(member) = taker {
                return Some(StolenStamp { value, form_of: writer.name(), by: member.dialect().name });
            }
        }
    }
    None
}
