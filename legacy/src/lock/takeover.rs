//! Taking an expired lock, and learning whether another client was faster.

use alloc::vec::Vec;

use lockshift_lock::{Acquired, Held, Owner, Refusal};
use lockshift_wire::{Expiry, Set, Transcript, Turn};

use super::Lock;
use super::bid::Bid;
use super::look::{ReadReply, raised};
use crate::{Candidate, Comparison, Lifetime, Looks, Loser, Number, OldNil, Rule, Takeover, Verdict};

/// How a takeover ended.
enum Outcome {
    Won,
    /// Another client was faster; this is what it had written, where that was seen.
    Lost(Option<Vec<u8>>),
    Raised,
}

impl Lock {
    /// Takes a lock whose value, `seen`, has expired.
    pub(super) fn take_over(
        &self,
        bid: Bid,
        seen: Option<Vec<u8>>,
        owner: &Owner,
        redis: &mut Transcript,
    ) -> Turn<Acquired> {
        let seen = seen.as_deref();
        let bid = self.candidate(bid, seen, owner, redis)?;
        let bid = Bid { value: self.dialect.form.taken(bid.value), ..bid };
        match self.contend(&bid, seen, redis)? {
            Outcome::Won => {
                self.give_ttl(self.ttl_after_takeover(), &bid, redis)?;
                Ok(bid.won())
            }
            Outcome::Lost(old) => {
                self.write_back(old.as_deref(), redis)?;
                Ok(Acquired::Held(Held { seen: old, ..Held::because(Refusal::LostTakeover) }))
            }
            Outcome::Raised => Ok(Acquired::Held(raised())),
        }
    }

    /// The bid that follows a claim that has failed.
    pub(super) fn candidate(&self, bid: Bid, seen: Option<&[u8]>, owner: &Owner, redis: &mut Transcript) -> Turn<Bid> {
        match self.dialect.candidate {
            Candidate::Same => Ok(bid),
            Candidate::Fresh => self.bid(owner, redis),
            // PHP's false, where there was no value, is sent as the empty string.
            Candidate::AsRead => Ok(Bid { value: seen.unwrap_or_default().to_vec(), ..bid }),
        }
    }

    fn contend(&self, bid: &Bid, seen: Option<&[u8]>, redis: &mut Transcript) -> Turn<Outcome> {
        let key = &self.key;
        let set = Set::new(key, &bid.value);
        let won = match self.dialect.takeover {
            Takeover::Never => false,
            Takeover::Raises => return Ok(Outcome::Raised),
            Takeover::WithoutWriting => true,
            Takeover::Set => redis.set(&set)?,
            Takeover::SetPx => redis.set(&set.expiry(Expiry::Px(self.lease.length())))?,
            Takeover::Setex => redis.setex(key, self.lease_secs(), &bid.value).map(|()| true)?,
            Takeover::WatchedSet => self.set_if_untouched(bid, redis)?,
            Takeover::DelThenSetnx => {
                redis.del(key)?;
                redis.setnx(key, &bid.value)?
            }
            Takeover::Getset(verdict) => return self.getset(verdict, bid, seen, redis),
        };
        Ok(if won { Outcome::Won } else { Outcome::Lost(None) })
    }

    /// MULTI, SET and the TTL, EXEC: nil if another client has touched the key since WATCH.
    fn set_if_untouched(&self, bid: &Bid, redis: &mut Transcript) -> Turn<bool> {
        let mut commands = alloc::vec![Set::new(&self.key, &bid.value).command()];
        commands.extend(self.ttl_command(self.dialect.ttl.taken, bid));
        Ok(redis.transaction(&commands)?.is_some())
    }

    /// GETSET, and the verdict on the old value. Won or lost, ours is written now.
    fn getset(&self, verdict: Verdict, bid: &Bid, seen: Option<&[u8]>, redis: &mut Transcript) -> Turn<Outcome> {
        let before = self.clock_before(bid.since, redis)?;
        let old = match self.answer(redis.getset(&self.key, &bid.value))? {
            ReadReply::Value(old) => old.filter(|old| !self.is_absent(old)),
            ReadReply::Raised => return Ok(Outcome::Raised),
            ReadReply::Later => return Ok(Outcome::Lost(None)),
        };
        let Some(old) = old else { return Ok(verdict.old_nil.outcome(seen)) };
        let wins = match verdict.rule {
            Rule::StillExpired => match self.looks(&old, self.clock_after(before, redis)?) {
                Looks::Raised => return Ok(Outcome::Raised),
                looks => looks == Looks::Expired,
            },
            Rule::SameBytes => seen == Some(&old),
            Rule::SameNumber { first, old: reader } => match seen.and_then(|seen| first.number(seen)) {
                Some(number) => reader.compare(&old, number) == Comparison::Equal,
                None => seen == Some(&old),
            },
            Rule::NotAboveRead => {
                let read = seen.and_then(|seen| self.number(seen)).unwrap_or(Number::Int(0));
                self.compare(&old, read) != Comparison::Greater
            }
            Rule::BelowOwn(reader) => reader.compare(&old, bid.number) == Comparison::Less,
        };
        Ok(if wins { Outcome::Won } else { Outcome::Lost(Some(old)) })
    }

    /// The TTL that follows a takeover; a transaction has it inside.
    fn ttl_after_takeover(&self) -> Lifetime {
        if self.dialect.takeover == Takeover::WatchedSet { Lifetime::None } else { self.dialect.ttl.taken }
    }

    /// What the loser does about the value it has overwritten.
    fn write_back(&self, old: Option<&[u8]>, redis: &mut Transcript) -> Turn<()> {
        match (self.dialect.loser, old) {
            (Loser::WritesBack, Some(old)) => redis.set(&Set::new(&self.key, old)).map(drop),
            (Loser::WritesBack, None) | (Loser::LeavesItsStamp, _) => Ok(()),
        }
    }
}

impl OldNil {
    fn outcome(self, seen: Option<&[u8]>) -> Outcome {
        match (self, seen) {
            (Self::Wins, _) | (Self::WinsIfAlsoRead, None) => Outcome::Won,
            // The original fails with an error where nil raises. Its value is written, and the key has only disappeared.
            (Self::Loses | Self::Raises, _) | (Self::WinsIfAlsoRead, Some(_)) => Outcome::Lost(None),
        }
    }
}
