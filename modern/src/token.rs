//! The token lock.
//!
//! Source: Redis documentation, "Distributed Locks with Redis", and the SET page, "Patterns".

use alloc::string::ToString;
use core::time::Duration;

use lockshift_lock::{
    Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Owner, Ownership, Refusal, ReleaseChannel, Released,
};
use lockshift_wire::{Fault, Key, Only, Pending, Script, Set, Transcript, Ttl, Turn, UnixTime};

use crate::{CompareDelete, Native, Publish, Timing};

pub(crate) const RELEASE: Script = Script::new(include_str!("lua/release.lua"));
const RELEASE_ANNOUNCED: Script = Script::new(include_str!("lua/announced/release.lua"));
pub(crate) const EXTEND: Script = Script::new(include_str!("lua/extend.lua"));
const EXTEND_UNTIL: Script = Script::new(include_str!("lua/extend_until.lua"));

/// The lease of a lock that the server took for over when it was won: shorter than the drift, so no holder relies on it.
const OVER_AT_ONCE: Lease = match Lease::new(Lease::MIN) {
    Ok(lease) => lease,
    Err(_) => panic!("the shortest lease is a lease"),
};

/// `SET key token NX PX lease`; released and extended only while the key holds the token.
///
/// ```
/// use core::time::Duration;
/// use lockshift_lock::Lease;
/// use lockshift_modern::{Native, Timing, TokenLock};
///
/// # fn main() -> Result<(), lockshift_lock::LeaseError> {
/// let lease = Lease::new(Duration::from_secs(30))?;
/// let by_script = TokenLock::new("invoices".into(), lease);
/// let by_delifeq = by_script.clone().timed(Timing::Ex).native(Native::VALKEY_9_0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct TokenLock {
    key: Key,
    lease: Lease,
    timing: Timing,
    native: Native,
    announced: Option<(Publish, Key)>,
}

impl TokenLock {
    /// A token lock on `key`, for `lease` at a time: given in milliseconds, released and extended by script.
    pub fn new(key: Key, lease: Lease) -> Self {
        Self { key, lease, timing: Timing::Px, native: Native::NONE, announced: None }
    }

    /// With the lease given by another option of SET.
    #[must_use]
    pub fn timed(self, timing: Timing) -> Self {
        Self { timing, ..self }
    }

    /// Released and extended by what the server has of its own, as [`Native::detect`] found it.
    #[must_use]
    pub fn native(self, native: Native) -> Self {
        Self { native, ..self }
    }

    /// With releases that are announced, on the channel `{key}:released`, so that waiters need not poll. They are by
    /// script then, whatever commands the server has; and a client that is refused also asks how long the lease still
    /// runs, because a holder that dies announces nothing.
    #[must_use]
    pub fn announced(self, announce: Publish) -> Self {
        Self { announced: Some((announce, self.key.sibling("released"))), ..self }
    }
}

impl Locker for TokenLock {
    fn key(&self) -> &Key {
        &self.key
    }

    /// As it was asked for, rounded up to what the option of SET can say.
    fn lease(&self) -> Lease {
        self.timing.rounded(self.lease)
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let since = redis.clock()?;
        let token = owner.token.hex().into_bytes();
        let expiry = self.timing.expiry(self.lease(), since.wall);
        if !redis.set(&Set::new(&self.key, &token).only(Only::IfMissing).expiry(expiry))? {
            return self.held(redis);
        }
        let hold = Hold { value: token, since, lease: self.lease(), fence: None };
        let counted = self.as_the_server_counts(hold, redis)?;
        Ok(Acquired::Won(counted.unwrap_or_else(|hold| Hold { lease: OVER_AT_ONCE, ..hold })))
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let freed = self.delete_if_equal(&hold.value, redis)?;
        Ok(if freed { Released::Freed } else { Released::Lost })
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::Harmless
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        let since = redis.clock()?;
        if !self.expire_if_equal(&hold.value, since.wall, redis)? {
            return Ok(Extended::Lost);
        }
        let hold = Hold { since, lease: self.lease(), ..hold.clone() };
        Ok(self.as_the_server_counts(hold, redis)?.map_or(Extended::Lost, Extended::Until))
    }

    /// First for how long, then whose: the token is written once, so what is ours at the end was ours all the time. The
    /// other way round the time might be that of whoever came in between.
    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        let ttl = redis.pttl(&self.key)?;
        Ok(match redis.get(&self.key)? {
            None => Ownership::Free,
            Some(value) if value != hold.value => Ownership::Theirs,
            Some(_) => Ownership::Ours { left: ttl.left_of_millis() },
        })
    }

    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        self.delete_if_equal(owner.token.hex().as_bytes(), redis).map(drop)
    }

    /// One channel for all who wait: a release wakes one of each program.
    fn release_channel(&self, _: &Owner) -> Option<ReleaseChannel> {
        self.announced.as_ref().map(|(announce, channel)| announce.release_channel(channel))
    }
}

impl TokenLock {
    /// Refused. A client that waits for the release asks how long the lease still runs: a holder that dies announces nothing.
    pub(crate) fn held(&self, redis: &mut Transcript) -> Turn<Acquired> {
        let retry_in = match self.announced {
            None => None,
            Some(_) => match redis.pttl(&self.key)? {
                Ttl::NO_KEY => Some(Duration::ZERO),
                ttl => ttl.left_of_millis(),
            },
        };
        Ok(Acquired::Held(Held { retry_in, ..Held::because(Refusal::Live) }))
    }

    /// Deletes the key if it holds exactly `token`; whether it did.
    fn delete_if_equal(&self, token: &[u8], redis: &mut Transcript) -> Turn<bool> {
        if let Some((announce, channel)) = &self.announced {
            return redis.script_flag(&RELEASE_ANNOUNCED, &[&self.key, channel], &[token, announce.command()]);
        }
        let answer = match self.native.delete {
            None => None,
            Some(CompareDelete::DelIfEq) => unless_refused(redis.delifeq(&self.key, token))?,
            Some(CompareDelete::DelEx) => unless_refused(redis.delex_ifeq(&self.key, token))?,
        };
        match answer {
            Some(deleted) => Ok(deleted),
            None => redis.script_flag(&RELEASE, &[&self.key], &[token]),
        }
    }

    /// Lets the key live for another lease from `now` if it holds exactly `token`; whether it did.
    fn expire_if_equal(&self, token: &[u8], now: UnixTime, redis: &mut Transcript) -> Turn<bool> {
        let lease = self.lease();
        let set = Set::new(&self.key, token).only(Only::IfEquals(token)).expiry(self.timing.expiry(lease, now));
        if self.native.set_ifeq
            && let Some(written) = unless_refused(redis.set(&set))?
        {
            return Ok(written);
        }
        let (script, millis) = match self.timing.end(lease, now) {
            None => (EXTEND, lease.length().as_millis().to_string()),
            Some(end) => (EXTEND_UNTIL, end.as_millis().to_string()),
        };
        redis.script_flag(&script, &[&self.key], &[token, millis.as_bytes()])
    }

    /// What is left of `hold` if its end was told as a moment, which the server compares with its own clock; `hold`
    /// itself, as an error, if that is nothing.
    fn as_the_server_counts(&self, hold: Hold, redis: &mut Transcript) -> Turn<Result<Hold, Hold>> {
        if self.timing.end(hold.lease, hold.since.wall).is_none() {
            return Ok(Ok(hold));
        }
        let asked = redis.clock()?;
        let Ownership::Ours { left } = self.ownership(&hold, redis)? else { return Ok(Err(hold)) };
        let left = left.map_or(hold.lease.length(), |left| left.min(hold.lease.length()));
        let Ok(lease) = Lease::new(left) else { return Ok(Err(hold)) };
        let counted = Hold { since: asked, lease, ..hold.clone() };
        Ok(Ok(if counted.valid_until() < hold.valid_until() { counted } else { hold }))
    }
}

/// The answer, or `None` where the server refuses the native command: then the script has the last word. The server may
/// have been replaced by an older one, an ACL may forbid the one and not the other, and a server that is out of memory
/// refuses every SET, but no PEXPIRE.
fn unless_refused(answer: Turn<bool>) -> Turn<Option<bool>> {
    match answer {
        Err(Pending::Fault(Fault::Refused { .. })) => Ok(None),
        answer => answer.map(Some),
    }
}
