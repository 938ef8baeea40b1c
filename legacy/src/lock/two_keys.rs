//! The dialect of two keys: the owner in `lock:owner:NAME`, the stamp in `lock:expire:NAME`.
//!
//! Source: mlanett/redis-lock, `lib/redis-lock.rb`. Its WATCH covers both keys, so a stale lock can be cleared away
//! without the races of GETSET; UNWATCH follows every WATCH, also one that an EXEC has ended.

use lockshift_lock::{Acquired, Extended, Held, Hold, Owner, Refusal, Released};
use lockshift_wire::{Command, Key, Set, Transcript, Turn};

use super::Lock;
use super::bid::Bid;
use crate::{Comparison, Keys, Looks, Number};

impl Lock {
    fn expire_key(&self) -> Key {
        Key::new([Keys::EXPIRY_PREFIX.as_bytes(), &self.key.as_bytes()[self.dialect.key.before.len()..]].concat())
    }

    /// MSETNX; deletes a stale lock that is in the way, and sends MSETNX once more.
    pub(super) fn acquire_two_keys(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let bid = self.bid(owner, redis)?;
        if self.msetnx(&bid, redis)? {
            return Ok(bid.won());
        }
        if let Some(held) = self.clear_away_stale(redis)? {
            return Ok(Acquired::Held(held));
        }
        let bid = self.bid(owner, redis)?;
        if self.msetnx(&bid, redis)? {
            return Ok(bid.won());
        }
        Ok(Acquired::Held(Held::because(Refusal::LostTakeover)))
    }

    fn msetnx(&self, bid: &Bid, redis: &mut Transcript) -> Turn<bool> {
        let stamp = self.dialect.form.stamp.digits.write(bid.number);
        redis.msetnx([(&self.key, &bid.value), (&self.expire_key(), &stamp)])
    }

    /// Deletes both keys if they are stale: without an owner, or with an expired stamp. Returns the refusal if it did not.
    fn clear_away_stale(&self, redis: &mut Transcript) -> Turn<Option<Held>> {
        let expire_key = self.expire_key();
        let at = self.clock(redis)?;
        redis.watch_all(&[&self.key, &expire_key])?;
        let owner = redis.get(&self.key)?;
        let stamp = redis.get(&expire_key)?;
        let stamp = stamp.unwrap_or_default();
        // Without an owner, any stamp above 0 is the sign of a broken lock; 0 is what `to_i` makes of nil.
        let stale = match owner {
            Some(_) => self.looks(&stamp, at) == Looks::Expired,
            None => self.compare(&stamp, Number::Int(0)) == Comparison::Greater,
        };
        let cleared = stale && redis.transaction(&[del(&self.key), del(&expire_key)])?.is_some();
        redis.unwatch()?;
        let why = match (stale, owner.is_some()) {
            (true, _) => Refusal::LostTakeover,
            (false, true) => Refusal::Live,
            (false, false) => Refusal::Vanished,
        };
        Ok((!cleared).then_some(Held { seen: owner, ..Held::because(why) }))
    }

    /// Deletes both keys if the value in the owner's key is ours.
    pub(super) fn release_two_keys(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let expire_key = self.expire_key();
        let both = [&self.key, &expire_key];
        let freed = self.if_owner(hold, &both, &both.map(del), redis)?;
        Ok(if freed { Released::Freed } else { Released::Lost })
    }

    /// Sets a new stamp if the value in the owner's key is ours. No other old client has an extension of its own.
    pub(super) fn extend_two_keys(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        let expire_key = self.expire_key();
        let since = self.clock(redis)?;
        let number = self.dialect.form.stamp.at(self.now(since), self.lease.length());
        let stamp = self.dialect.form.stamp.digits.write(number);
        let set = Set::new(&expire_key, &stamp).command();
        let extended = self.if_owner(hold, &[&self.key], &[set], redis)?;
        Ok(if extended { Extended::Until(Hold { since, ..hold.clone() }) } else { Extended::Lost })
    }

    /// WATCH, a transaction if the owner's key holds our value, UNWATCH. Returns whether the transaction was executed.
    fn if_owner(&self, hold: &Hold, watch: &[&Key], then: &[Command], redis: &mut Transcript) -> Turn<bool> {
        redis.watch_all(watch)?;
        let is_ours = redis.get(&self.key)?.as_ref() == Some(&hold.value);
        let done = is_ours && redis.transaction(then)?.is_some();
        redis.unwatch()?;
        Ok(done)
    }
}

fn del(key: &Key) -> Command {
    Command::new("DEL").arg(key)
}
