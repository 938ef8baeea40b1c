//! A semaphore: a limited number of holders at once, each with its own lease.
//!
//! The holders are the members of one sorted set, each scored with the server's millisecond at which its lease ends. Only
//! the server's clock counts, and all state is in one key, so it works in a cluster. The permit of a holder that crashes
//! becomes free when its lease ends.

use alloc::string::{String, ToString};
use core::num::NonZeroU32;
use core::time::Duration;

use lockshift_lock::{
    Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Mode, Owner, Ownership, Refusal, ReleaseChannel,
    Released,
};
use lockshift_wire::{Key, Script, Transcript, Turn, script_file};

use crate::{Publish, member};

const ACQUIRE: Script = script_file!("lua/semaphore/acquire.lua");
const RELEASE: Script = script_file!("lua/semaphore/release.lua");
const EXTEND: Script = script_file!("lua/semaphore/extend.lua");

/// A limited number of holders at once, each with its own lease.
///
/// All clients of a key must agree on the number of permits: each attempt is checked against the client's own number. Permits are not granted
/// in the order of the attempts. Needs Redis 3.2.
///
/// ```
/// use core::num::NonZeroU32;
/// use core::time::Duration;
/// use lockshift_lock::Lease;
/// use lockshift_modern::{Publish, Semaphore};
///
/// # fn main() -> Result<(), lockshift_lock::LeaseError> {
/// let five = NonZeroU32::new(5).expect("five is not zero");
/// let exports = Semaphore::new("exports".into(), five, Lease::new(Duration::from_secs(30))?);
/// let with_notifications = exports.announced(Publish::Everywhere);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Semaphore {
    holders: Key,
    permits: NonZeroU32,
    lease: Lease,
    announced: Option<(Publish, Key)>,
}

impl Semaphore {
    /// A semaphore with this number of `permits` on `key`, each with this lease, in whole milliseconds.
    pub fn new(key: Key, permits: NonZeroU32, lease: Lease) -> Self {
        Self { holders: key, permits, lease: lease.rounded_up_to(Duration::from_millis(1)), announced: None }
    }

    /// Publishes each release on the channel `{key}:released`, so that waiters need not poll. A release wakes one waiter of
    /// each program.
    #[must_use]
    pub fn announced(self, announce: Publish) -> Self {
        Self { announced: Some((announce, self.holders.sibling("released"))), ..self }
    }

    /// The maximum number of holders at once.
    pub fn permits(&self) -> NonZeroU32 {
        self.permits
    }

    fn lease_ms(&self) -> String {
        self.lease.length().as_millis().to_string()
    }

    /// Releases the permit of this token. Returns whether its lease was still running.
    fn release_permit(&self, token: &[u8], redis: &mut Transcript) -> Turn<bool> {
        match &self.announced {
            None => redis.script_flag(&RELEASE, &[&self.holders], &[token]),
            Some((announce, channel)) => {
                redis.script_flag(&RELEASE, &[&self.holders, channel], &[token, announce.command()])
            }
        }
    }
}

impl Locker for Semaphore {
    fn key(&self) -> &Key {
        &self.holders
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    /// A semaphore of one permit is a mutex.
    fn mode(&self) -> Mode {
        if self.permits == NonZeroU32::MIN { Mode::Exclusive } else { Mode::Shared }
    }

    fn max_sharers(&self) -> Option<NonZeroU32> {
        Some(self.permits)
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let token = owner.token.hex().into_bytes();
        let since = redis.clock()?;
        let (lease_ms, permits) = (self.lease_ms(), self.permits.to_string());
        let wait_ms =
            redis.script_int(&ACQUIRE, &[&self.holders], &[&token, lease_ms.as_bytes(), permits.as_bytes()])?;
        Ok(match u64::try_from(wait_ms) {
            Err(_) => Acquired::Won(Hold { value: token, since, lease: self.lease, fence: None }),
            Ok(wait_ms) => {
                Acquired::Held(Held { retry_in: Some(Duration::from_millis(wait_ms)), ..Held::because(Refusal::Live) })
            }
        })
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        Ok(if self.release_permit(&hold.value, redis)? { Released::Freed } else { Released::Lost })
    }

    /// Only the member of this acquisition is removed.
    fn late_release(&self) -> LateRelease {
        LateRelease::Harmless
    }

    fn release_is_repeatable(&self) -> bool {
        true
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        let since = redis.clock()?;
        let lease_ms = self.lease_ms();
        let extended = redis.script_flag(&EXTEND, &[&self.holders], &[&hold.value, lease_ms.as_bytes()])?;
        Ok(if extended { Extended::Until(Hold { since, ..hold.clone() }) } else { Extended::Lost })
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        member::ownership(&self.holders, &hold.value, redis)
    }

    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        self.release_permit(owner.token.hex().as_bytes(), redis).map(drop)
    }

    /// All waiters share one channel.
    fn release_channel(&self, _: &Owner) -> Option<ReleaseChannel> {
        self.announced.as_ref().map(|(announce, channel)| announce.release_channel(channel))
    }
}
