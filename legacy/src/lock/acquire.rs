//! One try, from first command to verdict.

use lockshift_lock::{Acquired, Held, Owner, Why};
use lockshift_wire::{Expiry, Only, Set, Transcript, Turn};

use super::Lock;
use super::bid::Bid;
use super::look::Sight;
use crate::{Claim, Words, scripts};

impl Lock {
    pub(super) fn acquire_one_key(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let ttl = self.dialect.ttl;
        let mut bid = self.bid(owner, redis)?;
        loop {
            if self.claim(&bid, redis)? {
                self.give_ttl(ttl.claimed, &bid, redis)?;
                return Ok(bid.won());
            }
            self.give_ttl(ttl.refused, &bid, redis)?;
            match self.look(&bid, owner, redis)? {
                Sight::Expired(seen) => return self.take_over(bid, seen, owner, redis),
                Sight::Refused(held) => return Ok(Acquired::Held(held)),
                Sight::RefusedUnlessClaimed(held) if !self.claim(&bid, redis)? => return Ok(Acquired::Held(held)),
                Sight::RefusedUnlessClaimed(_) => return Ok(bid.won()),
                Sight::Gone => bid = self.candidate(bid, None, owner, redis)?,
            }
        }
    }

    /// Sends the first command: whether the lock was free and is ours.
    fn claim(&self, bid: &Bid, redis: &mut Transcript) -> Turn<bool> {
        let (key, value) = (&self.key, &bid.value);
        let set = Set::new(key, value);
        let lease = self.lease.length();
        match self.dialect.claim {
            Claim::Setnx => redis.setnx(key, value),
            Claim::SetNxEx(words) => redis.set(&words.order(set.expiry(Expiry::Ex(lease)))),
            Claim::SetNxPx(words) => redis.set(&words.order(set.expiry(Expiry::Px(lease)))),
            Claim::SetNxExOrPx(words) if lease.subsec_nanos() == 0 => {
                redis.set(&words.order(set.expiry(Expiry::Ex(lease))))
            }
            Claim::SetNxExOrPx(words) => redis.set(&words.order(set.expiry(Expiry::Px(lease)))),
            Claim::ExistsThenSet => Ok(!redis.exists(key)? && redis.set(&set)?),
            Claim::SetnxExpireScript => scripts::setnx_expire(redis, key, value, self.lease_secs()),
            Claim::None => Ok(false),
        }
    }
}

impl Words {
    fn order(self, set: Set<'_>) -> Set<'_> {
        let set = set.only(Only::IfMissing);
        match self {
            Self::NxFirst => set,
            Self::ExpiryFirst => set.expiry_first(),
        }
    }
}

/// The try ends with an error of the client's.
pub(super) fn raised() -> Held {
    Held::because(Why::Unreadable)
}
