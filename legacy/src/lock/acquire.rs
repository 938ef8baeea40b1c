//! One try, from first command to verdict.

use lockshift_lock::{Acquired, Held, Owner, Refusal};
use lockshift_wire::{Expiry, Only, Set, Transcript, Turn};

use super::Lock;
use super::bid::Bid;
use super::look::Sight;
use crate::{Claim, Words, scripts};

/// How often a try claims again at once where it has found no value. The old clients go on for ever, and an empty value
/// that counts as none, or a key that comes and goes, would hold them there; here the next round is another try.
const CLAIMS_PER_TRY: u32 = 10;

impl Lock {
    pub(super) fn acquire_one_key(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let mut bid = self.bid(owner, redis)?;
        for _ in 0..CLAIMS_PER_TRY {
            if self.claim(&bid, redis)? {
                return self.claimed(bid, redis);
            }
            self.give_ttl(self.dialect.ttl.refused, &bid, redis)?;
            match self.look(&bid, owner, redis)? {
                Sight::Expired(seen) => return self.take_over(bid, seen, owner, redis),
                Sight::Refused(held) => return Ok(Acquired::Held(held)),
                Sight::RefusedUnlessClaimed(held) => {
                    let claimed = self.claim(&bid, redis)?;
                    return if claimed { self.claimed(bid, redis) } else { Ok(Acquired::Held(held)) };
                }
                Sight::Gone => bid = self.candidate(bid, None, owner, redis)?,
            }
        }
        Ok(Acquired::Held(Held::because(Refusal::Vanished)))
    }

    /// The lock was free and is ours, as soon as it has its TTL.
    fn claimed(&self, bid: Bid, redis: &mut Transcript) -> Turn<Acquired> {
        self.give_ttl(self.dialect.ttl.claimed, &bid, redis)?;
        Ok(bid.won())
    }

    /// Sends the first command: whether the lock was free and is ours.
    fn claim(&self, bid: &Bid, redis: &mut Transcript) -> Turn<bool> {
        let (key, value) = (&self.key, &bid.value);
        let set = Set::new(key, value);
        let lease = self.lease.length();
        match self.dialect.claim {
            Claim::Setnx => redis.setnx(key, value),
            Claim::SetNxEx(words) => redis.set(&words.order(set, Expiry::Ex(lease))),
            Claim::SetNxPx(words) => redis.set(&words.order(set, Expiry::Px(lease))),
            Claim::SetNxExOrPx(words) if lease.subsec_nanos() == 0 => redis.set(&words.order(set, Expiry::Ex(lease))),
            Claim::SetNxExOrPx(words) => redis.set(&words.order(set, Expiry::Px(lease))),
            Claim::ExistsThenSet => Ok(!redis.exists(key)? && redis.set(&set)?),
            Claim::SetnxExpireScript => scripts::setnx_expire(redis, key, value, self.lease_secs()),
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
