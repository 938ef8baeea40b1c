//! The bridge lock.

use std::time::Duration;

use super::fleet::{Clocks, Fleet};
use super::scripts::{self, Bid, Bidden, Found};
use super::trial;
use super::unbridgeable::{Taken, Unbridgeable};
use super::writing::Writing;
use crate::legacy::{Clock, Dialect, Keys, Lock, Looks};
use crate::lock::{
    Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Owner, Ownership, Refusal, Released, Token,
};
use crate::wire::{Key, Pending, Transcript, Turn, UnixTime};

/// The new key beside an old one, in the same hash slot: `{invoices}:token` for `invoices`. Whoever speaks nothing but the
/// token lock uses this key from the first phase in which it meets a bridge to the last.
pub fn new_key(old: &Key) -> Key {
    old.sibling("token")
}

/// A lock on two keys at once: the old one with a stamp that a fleet of old clients respects, and the new one.
#[derive(Clone, Debug)]
pub struct Bridge {
    old: Key,
    new: Key,
    counter: Option<Key>,
    lease: Lease,
    fleet: Fleet,
    writing: Writing,
}

impl Bridge {
    /// A bridge from the old clients of these dialects, who share `key`, to the new ones on its [`new_key`], for `lease` at
    /// a time, in whole milliseconds.
    ///
    /// Which stamp keeps the whole fleet out is not looked up: each dialect's protocol runs on each stamp that could be
    /// written, early and late in the lease.
    ///
    /// # Errors
    /// [`Unbridgeable`]: no stamp does, with the values that show it; one of the dialects has no stamp that another client
    /// could write; or two dialects take each other's locks while they are held, and with them a bridge's, which is hit
    /// when one of them enters beside the other. [`accepting_double_holds`](Self::accepting_double_holds) bridges those.
    pub fn new(fleet: &[&'static Dialect], key: Key, lease: Lease) -> Result<Self, Unbridgeable> {
        let bridge = Self::accepting_double_holds(fleet, key, lease)?;
        let taken = taken_among(&bridge.fleet);
        if taken.is_empty() { Ok(bridge) } else { Err(Unbridgeable::NotExclusive(taken)) }
    }

    /// A bridge as [`new`](Self::new) makes it, also to a fleet whose dialects do not exclude each other. Two of its old
    /// clients can hold at once, with the bridge or without it; and one that releases then, or renews, can let another in
    /// beside a bridge.
    ///
    /// # Errors
    /// [`Unbridgeable`], but not for that.
    pub fn accepting_double_holds(fleet: &[&'static Dialect], key: Key, lease: Lease) -> Result<Self, Unbridgeable> {
        if fleet.is_empty() {
            return Err(Unbridgeable::Nobody);
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
        let writing = writing(&fleet, lease)?;
        Ok(Self { new: new_key(&key), old: key, counter: None, lease, fleet, writing })
    }

    /// A bridge that writes in this hand, for a fleet of its dialect and others, without a proof that this keeps anybody
    /// out: for whoever reads what another bridge has written.
    #[cfg(feature = "sim")]
    pub(crate) fn unproven(hand: &Hand, others: &[&'static Dialect], key: Key, lease: Lease) -> Self {
        let lease = lease.rounded_up_to(Duration::from_millis(1));
        let fleet = Fleet::new(&[&[hand.dialect()], others].concat(), &key, lease);
        Self { new: new_key(&key), old: key, counter: None, lease, fleet, writing: hand.0 }
    }

    /// With a fence: a number that grows with every acquisition by a bridge, or by a
    /// [`FencedTokenLock`](crate::modern::FencedTokenLock) on the new key. Old clients have none.
    #[must_use]
    pub fn fenced(self) -> Self {
        Self { counter: Some(self.new.sibling("fence")), ..self }
    }

    /// The dialect in whose form the stamp is written.
    pub fn stamp_of(&self) -> &'static Dialect {
        self.writing.of
    }

    /// One bid for both keys, the old one only if it is missing or holds what was found to be `over`.
    fn bid(
        &self,
        owner: &Owner,
        clocks: &Clocks,
        over: Option<&[u8]>,
        redis: &mut Transcript,
    ) -> Turn<Result<Hold, Bidden>> {
        let stamp = self.writing.write(owner, self.lease, &self.fleet, clocks);
        let token = owner.token.hex();
        let keys: Vec<&Key> = [&self.new, &self.old].into_iter().chain(&self.counter).collect();
        let bid = Bid { keys: &keys, token: token.as_bytes(), lease_ms: &self.lease_ms(), stamp: &stamp };
        Ok(match scripts::acquire(redis, &bid, over)? {
            Bidden::Won(count) => Ok(Hold {
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

    /// What stands in the old key, if it can be read.
    fn old_value(&self, redis: &mut Transcript) -> Turn<Option<Vec<u8>>> {
        match redis.get(&self.old) {
            Err(Pending::Fault(fault)) if fault.code() == Some("WRONGTYPE") => Ok(None),
            turn => turn,
        }
    }
}

/// How a bridge to one dialect writes.
#[cfg(feature = "sim")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hand(Writing);

#[cfg(feature = "sim")]
impl Hand {
    /// As a bridge to this dialect alone writes, if there is one.
    pub(crate) fn of(dialect: &'static Dialect) -> Self {
        let lease = Lease::new(TRIED_FOR).expect("a minute is a lease");
        let fleet = Fleet::new(&[dialect], &Key::from("k"), lease);
        let plain = Writing::in_hand_of(dialect);
        Self(plain.unmistakable().find(|other| is_the_same(&fleet, &plain, other, lease)).unwrap_or(plain))
    }

    /// Whose hand it is.
    pub(crate) fn dialect(&self) -> &'static Dialect {
        self.0.of
    }

    /// What is written.
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
        let refused = match self.bid(owner, &clocks, None, redis)? {
            Ok(hold) => return Ok(Acquired::Won(hold)),
            Err(refused) => refused,
        };
        let Bidden::OldHolds(value) = refused else {
            return Ok(Acquired::Held(self.held(Refusal::Live, refused, &clocks)));
        };
        let clocks = self.fleet.clocks(redis)?;
        let reason = match self.fleet.looks(&value, &clocks) {
            Looks::Expired => match self.bid(owner, &clocks, Some(&value), redis)? {
                Ok(hold) => return Ok(Acquired::Won(hold)),
                Err(refused) => return Ok(Acquired::Held(self.held(Refusal::LostTakeover, refused, &clocks))),
            },
            Looks::Live => Refusal::Live,
            Looks::Raised => Refusal::Unreadable,
        };
        Ok(Acquired::Held(self.held(reason, Bidden::OldHolds(value), &clocks)))
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let (token, _) = parts(&hold.value);
        Ok(match scripts::release(redis, &[&self.new, &self.old], token)? {
            Found::AsLeft => Released::Freed,
            Found::Changed => Released::Intruded,
            Found::NotOurs => Released::Lost,
        })
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::Harmless
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        let clocks = self.fleet.clocks(redis)?;
        let (token, stamp) = parts(&hold.value);
        let stamp = self.writing.rewrite(stamp, self.lease, &self.fleet, &clocks);
        let bid = Bid { keys: &[&self.new, &self.old], token, lease_ms: &self.lease_ms(), stamp: &stamp };
        let found = scripts::extend(redis, &bid)?;
        let value = [token, b":", &stamp].concat();
        let hold = Hold { value, since: clocks.host, lease: self.lease, fence: hold.fence };
        Ok(match found {
            Found::AsLeft => Extended::Until(hold),
            Found::Changed => Extended::Intruded(hold),
            Found::NotOurs => Extended::Lost,
        })
    }

    /// First for how long, then whose, as the token lock does; the old key last.
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

    /// The new key says what was written into the old one, so both can be given back without knowing how the try ended.
    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        scripts::release(redis, &[&self.new, &self.old], owner.token.hex().as_bytes()).map(drop)
    }
}

impl Bridge {
    fn held(&self, reason: Refusal, refused: Bidden, clocks: &Clocks) -> Held {
        match refused {
            Bidden::Won(_) | Bidden::OldIsOdd => Held::because(Refusal::Unreadable),
            Bidden::NewHeld(left_ms) => {
                Held { retry_in: u64::try_from(left_ms).ok().map(Duration::from_millis), ..Held::because(reason) }
            }
            Bidden::OldHolds(value) => {
                Held { retry_in: self.fleet.left_of(&value, clocks), seen: Some(value), ..Held::because(reason) }
            }
        }
    }
}

/// Who holds, and what it wrote into the old key.
fn parts(value: &[u8]) -> (&[u8], &[u8]) {
    let colon = value.iter().position(|byte| *byte == b':').unwrap_or(value.len());
    (&value[..colon], value.get(colon + 1..).unwrap_or_default())
}

/// A moment at which stamps are tried: a second that begins, and fractions of it.
const TRIED_AT: UnixTime = match UnixTime::from_secs(1_800_000_000) {
    Some(moment) => moment,
    None => panic!("2027 is before 2262"),
};
/// And a lease.
const TRIED_FOR: Duration = Duration::from_secs(60);
const FRACTIONS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(500), Duration::from_micros(999_999)];

/// The first way to write that everybody respects; one that nobody else writes, if nobody sees a difference.
fn writing(fleet: &Fleet, lease: Lease) -> Result<Writing, Unbridgeable> {
    let mut taken = Vec::new();
    for writing in Writing::candidates(fleet) {
        match takes(fleet, &writing, lease) {
            None => {
                let will_do = |other: &Writing| {
                    is_the_same(fleet, &writing, other, lease) && takes(fleet, other, lease).is_none()
                };
                return Ok(writing.unmistakable().find(will_do).unwrap_or(writing));
            }
            Some(by) => taken.push(by),
        }
    }
    Err(Unbridgeable::NoStamp(taken))
}

/// Whether everybody makes the same of what is written in the one way and in the other, while the lease runs.
fn is_the_same(fleet: &Fleet, one: &Writing, other: &Writing, lease: Lease) -> bool {
    let owner = Owner::new(Token::new([0xd7; 16]), 1, 1);
    let begin = Clocks::at(TRIED_AT);
    let values = [one, other].map(|writing| writing.write(&owner, lease, fleet, &begin));
    [Duration::ZERO, lease.validity() / 2, lease.validity()].into_iter().all(|elapsed| {
        let clocks = begin.after(elapsed);
        let looks = |member: &Lock, value: &[u8]| member.looks(value, clocks.of(member.dialect()));
        fleet.members().iter().all(|member| looks(member, &values[0]) == looks(member, &values[1]))
    })
}

/// Which dialects of the fleet take what another one writes while its lease, a minute, runs: an example for each pair.
fn taken_among(fleet: &Fleet) -> Vec<Taken> {
    let mut taken: Vec<Taken> = Vec::new();
    for writer in fleet.members().iter().map(Lock::dialect) {
        for other in fleet.members().iter().filter(|other| other.dialect().name != writer.name) {
            let example = FRACTIONS.into_iter().find_map(|fraction| {
                let begin = Clocks::at(TRIED_AT.saturating_add(fraction));
                let owner = Owner::new(Token::new([0xd7; 16]), 1, 1);
                let now = begin.of(writer).wall;
                let value = writer.form.write(writer.form.stamp.at(now, TRIED_FOR), &owner);
                let early = [Duration::ZERO, TRIED_FOR / 2];
                early.into_iter().any(|elapsed| !trial::respects(other, &value, &begin.after(elapsed))).then_some(value)
            });
            let by = other.dialect().name;
            taken.extend(example.map(|value| Taken { value, form_of: writer.name, by }));
        }
    }
    taken
}

/// Who takes what is written this way while the lease runs.
fn takes(fleet: &Fleet, writing: &Writing, lease: Lease) -> Option<Taken> {
    // Some readers see a number at the head of a token, so that of every token is tried.
    let heads = if writing.form.names_token() { 0..=u8::MAX } else { 0..=0 };
    let fractions = FRACTIONS.into_iter().map(|fraction| (fraction, 0));
    for (fraction, head) in fractions.chain(heads.map(|head| (Duration::ZERO, head))) {
        let begin = Clocks::at(TRIED_AT.saturating_add(fraction));
        let mut token = [0xd7; 16];
        token[0] = head;
        let value = writing.write(&Owner::new(Token::new(token), 1, 1), lease, fleet, &begin);
        for elapsed in [Duration::ZERO, lease.validity() / 2, lease.validity()] {
            let clocks = begin.after(elapsed);
            let taker = fleet.members().iter().find(|member| !trial::respects(member, &value, &clocks));
            if let Some(member) = taker {
                return Some(Taken { value, form_of: writing.name(), by: member.dialect().name });
            }
        }
    }
    None
}
