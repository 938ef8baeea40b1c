//! One attempt, from its first command to its verdict.

use lockshift_lock::{Acquired, Held, Owner, Refusal};
use lockshift_wire::{Expiry, Only, Set, Transcript, Turn};

use super::Lock;
use super::bid::Bid;
use super::look::Conclusion;
use crate::{Claim, LookOrder, Words, scripts};

/// How many claims one attempt sends where it finds no value. The old clients go on for ever: an empty value that counts as
/// no value, or a key that comes and goes, keeps them there. Here the attempt ends, and its caller may start another.
const CLAIMS_PER_ATTEMPT: u32 = 10;

impl Lock {
    pub(super) fn acquire_one_key(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let bid = self.bid(owner, redis)?;
        match self.dialect.look.map(|look| look.order) {
            Some(LookOrder::LookFirst) => self.look_then_claim(bid, owner, redis),
            Some(LookOrder::ClaimFirst) | None => self.claim_then_look(bid, owner, redis),
        }
    }

    fn claim_then_look(&self, mut bid: Bid, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        for _ in 0..CLAIMS_PER_ATTEMPT {
            if self.claim(&bid, redis)? {
                return self.claimed(bid, owner, redis);
            }
            self.give_ttl(self.dialect.ttl.refused, &bid, redis)?;
            match self.look(&bid, owner, redis)? {
                Conclusion::Expired(seen) => return self.take_over(bid, seen, owner, redis),
                Conclusion::Refused(held) => return Ok(Acquired::Held(held)),
                Conclusion::RefusedUnlessClaimed(held) => {
                    let claimed = self.claim(&bid, redis)?;
                    return if claimed { self.claimed(bid, owner, redis) } else { Ok(Acquired::Held(held)) };
                }
                Conclusion::Gone => bid = self.candidate(bid, None, owner, redis)?,
            }
        }
        Ok(Acquired::Held(Held::because(Refusal::Vanished)))
    }

    /// Where the look found no value, the claim is sent until it wins.
    fn look_then_claim(&self, bid: Bid, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        match self.look(&bid, owner, redis)? {
            Conclusion::Expired(seen) => self.take_over(bid, seen, owner, redis),
            Conclusion::Refused(held) | Conclusion::RefusedUnlessClaimed(held) => Ok(Acquired::Held(held)),
            Conclusion::Gone => {
                for _ in 0..CLAIMS_PER_ATTEMPT {
                    if self.claim(&bid, redis)? {
                        return self.claimed(bid, owner, redis);
                    }
                }
                Ok(Acquired::Held(Held::because(Refusal::Vanished)))
            }
        }
    }

    /// The claim has won. The key is given its TTL.
    fn claimed(&self, bid: Bid, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        self.give_ttl(self.dialect.ttl.claimed, &bid, redis)?;
        if !self.dialect.ttl.then_setex {
            return Ok(bid.won());
        }
        let renewed = self.bid(owner, redis)?;
        redis.setex(&self.key, self.lease_secs(), &renewed.value)?;
        Ok(renewed.won())
    }

    /// Sends the claim. Returns whether it won.
    fn claim(&self, bid: &Bid, redis: &mut Transcript) -> Turn<bool> {
        let (key, value) = (&self.key, &bid.value);
        let set = Set::new(key, value);
        let lease = self.lease.length();
        match self.dialect.claim {
            Claim::Setnx => redis.setnx(key, value),
            Claim::SetNx => redis.set(&set.only(Only::IfMissing)),
            Claim::SetNxEx(words) => redis.set(&words.order(set, Expiry::Ex(lease))),
            Claim::SetNxPx(words) => redis.set(&words.order(set, Expiry::Px(lease))),
            Claim::SetNxExOrPx(words) if lease.subsec_nanos() == 0 => redis.set(&words.order(set, Expiry::Ex(lease))),
            Claim::SetNxExOrPx(words) => redis.set(&words.order(set, Expiry::Px(lease))),
            Claim::ExistsThenSet => Ok(!redis.exists(key)? && redis.set(&set)?),
            Claim::SetnxExpireScript => scripts::setnx_expire(redis, key, value, self.lease_secs()),
            Claim::RetoolsScript => scripts::retools_acquire(redis, key, value, self.lease_secs()),
            Claim::SetnxPexpireScript => scripts::setnx_pexpire(redis, key, value, self.lease_ms()),
            Claim::None => Ok(false),
        }
    }
}

impl Words {
    /// `set` with NX and this expiry.
    fn order(self, set: Set<'_>, expiry: Expiry) -> Set<'_> {
        let set = set.only(Only::IfMissing).expiry(expiry);
        match self {
            Self::NxFirst => set,
            Self::ExpiryFirst => set.expiry_first(),
        }
    }
}
