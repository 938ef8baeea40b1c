//! What the key holds, when the claim has found it taken.

use alloc::vec::Vec;
use core::time::Duration;

use lockshift_lock::{Held, Owner, Refusal};
use lockshift_wire::{Pending, Reading, Transcript, Turn};

use super::Lock;
use super::bid::Bid;
use crate::{Comparison, Judged, Live, Look, Looks, Missing, Number, OnError, Presence, Takeover, Watch};

/// What a look at the key has come to.
pub(super) enum Sight {
    /// The lock is over; these bytes were read, if any.
    Expired(Option<Vec<u8>>),
    /// The lock is not for us.
    Refused(Held),
    /// The lock is not for us, unless one more claim wins it.
    RefusedUnlessClaimed(Held),
    /// There is no key any more: back to the claim.
    Gone,
}

/// What GET or GETSET has answered.
pub(super) enum Answer {
    /// A value, or none.
    Value(Option<Vec<u8>>),
    /// Redis refused, and this client raises that.
    Raised,
    /// Redis refused, and this client comes back later.
    Later,
}

impl Lock {
    /// GETs the value and judges it.
    pub(super) fn look(&self, bid: &Bid, owner: &Owner, redis: &mut Transcript) -> Turn<Sight> {
        let Some(look) = &self.dialect.look else { return Ok(self.unseen()) };
        let before = self.clock_before(bid.since, redis)?;
        if look.watch != Watch::No {
            redis.watch(&self.key)?;
        }
        if look.presence == Presence::ExistsThenGet && !redis.exists(&self.key)? {
            return self.missing(look, None, redis);
        }
        let seen = match self.answer(redis.get(&self.key))? {
            Answer::Value(Some(value)) if !look.is_absent(&value) => value,
            Answer::Value(value) => return self.missing(look, value, redis),
            Answer::Raised => return self.refused(raised(), redis),
            Answer::Later => return self.refused(Held::because(Refusal::Live), redis),
        };
        let at = self.clock_after(before, redis)?;
        if look.mine_is_free && self.dialect.form.is_by(owner, &seen) {
            return Ok(Sight::Expired(Some(seen)));
        }
        match self.looks(&seen, at) {
            Looks::Expired => Ok(Sight::Expired(Some(seen))),
            Looks::Raised => self.refused(Held { seen: Some(seen), ..raised() }, redis),
            Looks::Live => {
                let retry_in = self.left_of(&seen, at);
                let live = Held { seen: Some(seen), retry_in, ..Held::because(Refusal::Live) };
                match look.live {
                    Live::GiveUp => self.refused(live, redis),
                    Live::ClaimOnce => Ok(Sight::RefusedUnlessClaimed(live)),
                }
            }
        }
    }

    /// Without a look, the claim's refusal stands, unless this client overwrites what it has not seen.
    fn unseen(&self) -> Sight {
        match self.dialect.takeover {
            Takeover::Never => Sight::Refused(Held::because(Refusal::Live)),
            Takeover::Getset(_)
            | Takeover::WatchedSet
            | Takeover::DelThenSetnx
            | Takeover::Set
            | Takeover::SetPx
            | Takeover::Setex
            | Takeover::Raises
            | Takeover::WalksIn => Sight::Expired(None),
        }
    }

    /// There is no value: the lock was freed after the claim had failed.
    fn missing(&self, look: &Look, value: Option<Vec<u8>>, redis: &mut Transcript) -> Turn<Sight> {
        let vanished = Held { seen: value.clone(), ..Held::because(Refusal::Vanished) };
        match look.missing {
            Missing::ClaimAgain => Ok(Sight::Gone),
            Missing::ClaimOnce => Ok(Sight::RefusedUnlessClaimed(vanished)),
            Missing::GiveUp => self.refused(vanished, redis),
            Missing::Expired => Ok(Sight::Expired(value)),
            // The original fails with an error here. The key has only disappeared, and the next attempt may win.
            Missing::Raises => self.refused(vanished, redis),
        }
    }

    fn refused(&self, held: Held, redis: &mut Transcript) -> Turn<Sight> {
        if self.dialect.look.is_some_and(|look| look.watch == Watch::Yes) {
            redis.unwatch()?;
        }
        Ok(Sight::Refused(held))
    }

    /// How long the stamp in the value is still ahead.
    fn left_of(&self, seen: &[u8], at: Reading) -> Option<Duration> {
        let stamp = &self.dialect.form.stamp;
        let ends = stamp.moment_of(self.number(seen)?).saturating_add(stamp.allowance(self.lease.length()));
        Some(ends.saturating_since(self.now(at)))
    }
}

/// Judging a value, by the row's look.
impl Lock {
    /// What a stored value looks like to this client at that moment: what it does next follows from that and from the
    /// row. A client that never looks takes every key for a lock that is held.
    pub fn looks(&self, value: &[u8], at: Reading) -> Looks {
        let stamp = &self.dialect.form.stamp;
        match &self.dialect.look {
            Some(look) => {
                let earlier = stamp.allowance(self.lease.length()) + look.slack;
                look.judge(value, stamp.now(self.now(at), earlier))
            }
            None => Looks::Live,
        }
    }

    /// The number that this client makes of a value.
    pub(super) fn number(&self, value: &[u8]) -> Option<Number> {
        self.dialect.look?.reader.number(value)
    }

    /// How this client compares a value with a number.
    pub(super) fn compare(&self, value: &[u8], number: Number) -> Comparison {
        self.dialect.look.map_or(Comparison::Unreadable, |look| look.reader.compare(value, number))
    }

    /// Whether this client takes a value for none.
    pub fn is_absent(&self, value: &[u8]) -> bool {
        self.dialect.look.is_some_and(|look| look.is_absent(value))
    }

    /// What this client makes of the reply, or of its being an error.
    pub(super) fn answer(&self, turn: Turn<Option<Vec<u8>>>) -> Turn<Answer> {
        match turn {
            Ok(value) => Ok(Answer::Value(value)),
            Err(Pending::Fault(fault)) if fault.code().is_some_and(OnError::concerns) => {
                Ok(match self.dialect.on_error {
                    OnError::False => Answer::Value(None),
                    OnError::Raises => Answer::Raised,
                    OnError::Retries => Answer::Later,
                })
            }
            Err(pending) => Err(pending),
        }
    }

    /// The clock for judging an answer, where it is read before the question; else as it was.
    pub(super) fn clock_before(&self, since: Reading, redis: &mut Transcript) -> Turn<Reading> {
        match self.dialect.look.map(|look| look.judged) {
            Some(Judged::BeforeAsking) => self.clock(redis),
            Some(Judged::AtStart | Judged::AfterAnswer) | None => Ok(since),
        }
    }

    /// The clock for judging an answer, where it is read after it; else as it was.
    pub(super) fn clock_after(&self, before: Reading, redis: &mut Transcript) -> Turn<Reading> {
        match self.dialect.look.map(|look| look.judged) {
            Some(Judged::AfterAnswer) => self.clock(redis),
            Some(Judged::AtStart | Judged::BeforeAsking) | None => Ok(before),
        }
    }
}

/// The client fails with an error, and the attempt ends.
pub(super) fn raised() -> Held {
    Held::because(Refusal::Unreadable)
}
