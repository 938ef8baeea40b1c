//! Reading the key and judging what it holds.

use alloc::vec::Vec;
use core::time::Duration;

use lockshift_lock::{Held, Owner, Refusal};
use lockshift_wire::{Pending, Reading, Transcript, Turn};

use super::Lock;
use super::bid::Bid;
use crate::{Comparison, Judged, Live, Look, Looks, Missing, Number, OnError, Presence, Takeover, Watch};

/// What a client concludes from a look at the key.
pub(super) enum Conclusion {
    /// The lock has expired; these bytes were read, if any.
    Expired(Option<Vec<u8>>),
    /// The attempt ends without the lock.
    Refused(Held),
    /// The attempt ends without the lock, unless one more claim wins it.
    RefusedUnlessClaimed(Held),
    /// The key has disappeared: the claim is sent again.
    Gone,
}

/// What a client makes of the reply to GET or GETSET.
pub(super) enum ReadReply {
    /// A value, or none.
    Value(Option<Vec<u8>>),
    /// Redis refused, and this client raises that.
    Raised,
    /// Redis refused, and this client attempts again later.
    Later,
}

impl Lock {
    /// GETs the value and judges it.
    pub(super) fn look(&self, bid: &Bid, owner: &Owner, redis: &mut Transcript) -> Turn<Conclusion> {
        let Some(look) = &self.dialect.look else { return Ok(self.unseen()) };
        let before = self.clock_before(bid.since, redis)?;
        if look.watch != Watch::No {
            redis.watch(&self.key)?;
        }
        if look.presence == Presence::ExistsThenGet && !redis.exists(&self.key)? {
            return self.missing(look, None, redis);
        }
        let seen = match self.answer(redis.get(&self.key))? {
            ReadReply::Value(Some(value)) if !look.is_absent(&value) => value,
            ReadReply::Value(value) => return self.missing(look, value, redis),
            ReadReply::Raised => return self.refused(raised(), redis),
            ReadReply::Later => return self.refused(Held::because(Refusal::Live), redis),
        };
        let at = self.clock_after(before, redis)?;
        if look.mine_is_free && self.dialect.form.is_by(owner, &seen) {
            return Ok(Conclusion::Expired(Some(seen)));
        }
        match self.looks(&seen, at) {
            Looks::Expired => Ok(Conclusion::Expired(Some(seen))),
            Looks::Raised => self.refused(Held { seen: Some(seen), ..raised() }, redis),
            Looks::Live => {
                let retry_in = self.remaining_of(&seen, at);
                let live = Held { seen: Some(seen), retry_in, ..Held::because(Refusal::Live) };
                match look.live {
                    Live::GiveUp => self.refused(live, redis),
                    Live::ClaimOnce => Ok(Conclusion::RefusedUnlessClaimed(live)),
                }
            }
        }
    }

    /// A client that never looks accepts the refusal of its claim, or overwrites a value that it has not seen.
    fn unseen(&self) -> Conclusion {
        match self.dialect.takeover {
            Takeover::Never => Conclusion::Refused(Held::because(Refusal::Live)),
            Takeover::Getset(_)
            | Takeover::WatchedSet
            | Takeover::DelThenSetnx
            | Takeover::Set
            | Takeover::SetPx
            | Takeover::Setex
            | Takeover::Raises
            | Takeover::WithoutWriting => Conclusion::Expired(None),
        }
    }

    /// No value was found: the lock was released after the claim was refused.
    fn missing(&self, look: &Look, value: Option<Vec<u8>>, redis: &mut Transcript) -> Turn<Conclusion> {
        let vanished = Held { seen: value.clone(), ..Held::because(Refusal::Vanished) };
        match look.missing {
            Missing::ClaimAgain => Ok(Conclusion::Gone),
            Missing::ClaimOnce => Ok(Conclusion::RefusedUnlessClaimed(vanished)),
            Missing::GiveUp => self.refused(vanished, redis),
            Missing::Expired => Ok(Conclusion::Expired(value)),
            // The original fails with an error here. The key has only disappeared, and the next attempt may win.
            Missing::Raises => self.refused(vanished, redis),
        }
    }

    fn refused(&self, held: Held, redis: &mut Transcript) -> Turn<Conclusion> {
        if self.dialect.look.is_some_and(|look| look.watch == Watch::Yes) {
            redis.unwatch()?;
        }
        Ok(Conclusion::Refused(held))
    }

    /// The time until the stamp in the value expires.
    fn remaining_of(&self, seen: &[u8], at: Reading) -> Option<Duration> {
        let stamp = &self.dialect.form.stamp;
        let ends = stamp.moment_of(self.number(seen)?).saturating_add(stamp.allowance(self.lease.length()));
        Some(ends.saturating_since(self.now(at)))
    }
}

/// Judging a value, by the row's look.
impl Lock {
    /// How this client judges a stored value at that moment. A client that never looks takes every value for a live lock.
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

    /// Whether this client takes the value for no value.
    pub fn is_absent(&self, value: &[u8]) -> bool {
        self.dialect.look.is_some_and(|look| look.is_absent(value))
    }

    /// What this client makes of the reply, which may be an error.
    pub(super) fn answer(&self, turn: Turn<Option<Vec<u8>>>) -> Turn<ReadReply> {
        match turn {
            Ok(value) => Ok(ReadReply::Value(value)),
            Err(Pending::Fault(fault)) if fault.code().is_some_and(OnError::concerns) => {
                Ok(match self.dialect.on_error {
                    OnError::False => ReadReply::Value(None),
                    OnError::Raises => ReadReply::Raised,
                    OnError::Retries => ReadReply::Later,
                })
            }
            Err(pending) => Err(pending),
        }
    }

    /// The clock to judge a value by: read now, if this dialect reads it before it asks; else `since`.
    pub(super) fn clock_before(&self, since: Reading, redis: &mut Transcript) -> Turn<Reading> {
        match self.dialect.look.map(|look| look.judged) {
            Some(Judged::BeforeAsking) => self.clock(redis),
            Some(Judged::AtStart | Judged::AfterAnswer) | None => Ok(since),
        }
    }

    /// The clock to judge a value by: read now, if this dialect reads it after the reply; else `before`.
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
