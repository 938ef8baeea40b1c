//! The token lock.
//!
//! Source: Redis documentation, "Distributed Locks with Redis", and the SET page, "Patterns".

use alloc::string::ToString;
use core::time::Duration;

use lockshift_lock::{
    Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Owner, Ownership, Refusal, RefusalScope,
    ReleaseChannel, Released,
};
use lockshift_wire::{Fault, Key, Only, Pending, Script, Set, Transcript, Ttl, Turn, UnixTime, script_file};

use crate::{CompareDelete, Native, Publish, Timing};

pub(crate) const RELEASE: Script = script_file!("lua/release.lua");
const RELEASE_ANNOUNCED: Script = script_file!("lua/announced/release.lua");
pub(crate) const EXTEND: Script = script_file!("lua/extend.lua");
const EXTEND_UNTIL: Script = script_file!("lua/extend_until.lua");

/// The lease of a lock that the server already considered expired when it was acquired: shorter than the drift, so no
/// holder relies on it.
const ALREADY_EXPIRED: Lease = match Lease::new(Lease::MIN) {
    Ok(lease) => lease,
    Err(_) => panic!("the shortest lease is a lease"),
};

/// `SET key token NX PX lease`; released and extended only while the key holds the token. With [`Timing::None`] it does not
/// expire, and to extend it is to look whether it still holds.
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
    /// A token lock on `key` with this lease, sent in milliseconds (`PX`), and released and extended by script.
    pub fn new(key: Key, lease: Lease) -> Self {
        Self { key, lease, timing: Timing::Px, native: Native::NONE, announced: None }
    }

    /// Sends the lease with another option of SET.
    #[must_use]
    pub fn timed(self, timing: Timing) -> Self {
        Self { timing, ..self }
    }

    /// Releases and extends with the server's native commands, as found by [`Native::detect`].
    #[must_use]
    pub fn native(self, native: Native) -> Self {
        Self { native, ..self }
    }

    /// Publishes each release on the channel `{key}:released`, so that waiters need not poll. Releases then always run a
    /// script, also where the server has native commands. A client whose attempt fails also reads the remaining lease,
    /// because a holder that crashes publishes nothing.
    #[must_use]
    pub fn announced(self, announce: Publish) -> Self {
        Self { announced: Some((announce, self.key.sibling("released"))), ..self }
    }
}

impl Locker for TokenLock {
    fn key(&self) -> &Key {
        &self.key
    }

    /// The requested lease, rounded up to the resolution of the option of SET.
    fn lease(&self) -> Lease {
        self.timing.rounded(self.lease)
    }

    fn expires(&self) -> bool {
        self.timing != Timing::None
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let since = redis.clock()?;
        let token = owner.token.hex_digits();
        let set = Set::new(&self.key, &token).only(Only::IfMissing);
        let expiry = self.timing.expiry(self.lease(), since.wall);
        if !redis.set(&expiry.map_or(set, |expiry| set.expiry(expiry)))? {
            return self.held(redis);
        }
        let hold = Hold { value: token.to_vec(), since, lease: self.lease(), fence: None };
        let counted = self.limited_by_server(hold, redis)?;
        Ok(Acquired::Won(counted.unwrap_or_else(|hold| Hold { lease: ALREADY_EXPIRED, ..hold })))
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let freed = self.delete_if_equal(&hold.value, redis)?;
        Ok(if freed { Released::Freed } else { Released::Lost })
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::Harmless
    }

    fn release_is_repeatable(&self) -> bool {
        true
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        let since = redis.clock()?;
        if !self.expire_if_equal(&hold.value, since.wall, redis)? {
            return Ok(Extended::Lost);
        }
        let hold = Hold { since, lease: self.lease(), ..hold.clone() };
        Ok(self.limited_by_server(hold, redis)?.map_or(Extended::Lost, Extended::Until))
    }

    /// Reads the TTL first and the token second. A token is written only once, so a key that is ours at the second read was
    /// ours at the first. In the other order the TTL could belong to a later holder.
    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        let ttl = redis.pttl(&self.key)?;
        Ok(match redis.get(&self.key)? {
            None => Ownership::Free,
            Some(value) if value != hold.value => Ownership::Theirs,
            Some(_) => Ownership::Ours { left: ttl.left_of_millis() },
        })
    }

    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        self.delete_if_equal(&owner.token.hex_digits(), redis).map(drop)
    }

    /// All waiters share one channel: a release wakes one waiter of each program.
    fn release_channel(&self, _: &Owner) -> Option<ReleaseChannel> {
        self.announced.as_ref().map(|(announce, channel)| announce.release_channel(channel))
    }

    fn refusal_scope(&self) -> RefusalScope {
        RefusalScope::AllWaiters
    }
}

impl TokenLock {
    /// The result of a failed attempt. With release notifications it includes the remaining lease, because a holder that
    /// crashes publishes nothing.
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

    /// Deletes the key if it holds exactly `token`. Returns whether it was deleted.
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

    /// Sets a new expiry, one lease from `now`, if the key holds exactly `token`. Returns whether it does.
    fn expire_if_equal(&self, token: &[u8], now: UnixTime, redis: &mut Transcript) -> Turn<bool> {
        let lease = self.lease();
        let Some(expiry) = self.timing.expiry(lease, now) else {
            return Ok(redis.get(&self.key)?.is_some_and(|value| value == token));
        };
        let set = Set::new(&self.key, token).only(Only::IfEquals(token)).expiry(expiry);
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

    /// Limits `hold` to the remaining TTL on the server if its lease end was sent as an absolute time, which the server
    /// compares with its own clock. Returns `hold` unchanged as an error if it has already expired there.
    fn limited_by_server(&self, hold: Hold, redis: &mut Transcript) -> Turn<Result<Hold, Hold>> {
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

/// The reply, or `None` if the server refused the native command: the script then decides. The server may have been
/// replaced by an older one, an ACL may forbid the native command but not scripts, and a server that is out of memory
/// refuses every SET, but not PEXPIRE.
fn unless_refused(answer: Turn<bool>) -> Turn<Option<bool>> {
    match answer {
        Err(Pending::Fault(Fault::Refused { .. })) => Ok(None),
        answer => answer.map(Some),
    }
}
