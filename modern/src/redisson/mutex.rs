//! The exclusive locks: plain, fenced, spinning and non-re-entrant.

use alloc::string::{String, ToString};
use core::time::Duration;

use lockshift_lock::{
    Acquired, Extended, Hold, LateRelease, Lease, Locker, Owner, Ownership, ReleaseChannel, Released,
};
use lockshift_wire::{Key, Script, Transcript, Turn, script_file};

use super::hold_value::{self, HoldValue};
use super::latched_release::LatchedRelease;
use super::names::prefixed;
use super::replies;
use crate::Publish;
use crate::field;

const ACQUIRE: Script = script_file!("../lua/redisson/acquire.lua");
const ACQUIRE_FENCED: Script = script_file!("../lua/redisson/acquire_fenced.lua");
const UNLOCK: Script = script_file!("../lua/redisson/unlock.lua");
const UNLOCK_SPIN: Script = script_file!("../lua/redisson/unlock_spin.lua");
const RENEW: Script = script_file!("../lua/redisson/renew.lua");

/// The server error, chosen by Redisson, for an owner that enters a non-re-entrant lock again.
pub(super) const ENTERED_TWICE: &[u8] = b"NON_REENTRANT_REACQUIRE";
/// The message of a release: one waiter of each process may try.
pub(super) const ONE_MAY_TRY: &[u8] = b"0";

/// A lock of one owner at a time.
///
/// ```
/// use core::time::Duration;
/// use lockshift_lock::{Lease, Locker, Owner, Token};
/// use lockshift_modern::Publish;
/// use lockshift_modern::redisson::{Kind, Mutex};
///
/// let lease = Lease::new(Duration::from_secs(30))?;
/// let lock = Mutex::new("orders".into(), lease).kind(Kind::Fenced).publish(Publish::InSlot);
/// let channel = lock.release_channel(&Owner::new(Token::new([7; 16]), 1, 1)).unwrap();
/// assert_eq!((channel.channel.as_slice(), channel.sharded), (&b"redisson_lock__channel:{orders}"[..], true));
/// # Ok::<(), lockshift_lock::LeaseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Mutex {
    name: Key,
    lease: Lease,
    kind: Kind,
    publish: Publish,
}

/// The kind of an exclusive lock. The hash is the same for all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// `getLock`: its owner may enter again.
    #[default]
    Reentrant,
    /// `getFencedLock`, by `lockAndGetToken` and `tryLockAndGetToken`: each entry has a [`fence`](Hold::fence).
    Fenced,
    /// `getSpinLock`: releases are not published, not even to waiters of the other kinds.
    Spin,
    /// `getNonReentrantLock`: a second entry is a server error, `NON_REENTRANT_REACQUIRE`.
    NonReentrant,
}

impl Mutex {
    /// The lock of this name with this lease: [`Kind::Reentrant`], with releases sent by PUBLISH.
    pub fn new(name: Key, lease: Lease) -> Self {
        let lease = lease.rounded_up_to(Duration::from_millis(1));
        Self { name, lease, kind: Kind::default(), publish: Publish::default() }
    }

    /// Sets the kind.
    #[must_use]
    pub fn kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// Publishes releases with this command.
    #[must_use]
    pub fn publish(self, publish: Publish) -> Self {
        Self { publish, ..self }
    }

    fn channel(&self) -> Key {
        prefixed("redisson_lock__channel", &self.name)
    }

    fn lease_ms(&self) -> String {
        self.lease.length().as_millis().to_string()
    }
}

impl Locker for Mutex {
    fn key(&self) -> &Key {
        &self.name
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let field = owner.thread_name();
        let since = redis.clock()?;
        let lease_ms = self.lease_ms();
        let args = [lease_ms.as_bytes(), field.as_bytes()];
        let entered = match self.kind {
            Kind::Reentrant | Kind::Spin => {
                replies::enter(&ACQUIRE, &[&self.name], &args, redis)?.map_or(Ok(None), Err)
            }
            Kind::NonReentrant => {
                let args = [args[0], args[1], ENTERED_TWICE];
                replies::enter(&ACQUIRE, &[&self.name], &args, redis)?.map_or(Ok(None), Err)
            }
            Kind::Fenced => {
                let counter = prefixed("redisson_lock_token", &self.name);
                replies::enter_fenced(&ACQUIRE_FENCED, &[&self.name, &counter], &args, redis)?
            }
        };
        Ok(match entered {
            Ok(fence) => {
                Acquired::Won(Hold { value: hold_value::encode(&field, owner), since, lease: self.lease, fence })
            }
            Err(held) => Acquired::Held(held),
        })
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let value = HoldValue::of(hold);
        let lease_ms = self.lease_ms();
        if self.kind == Kind::Spin {
            let args = [lease_ms.as_bytes(), value.field];
            return LatchedRelease::of(&self.name, None).run(&UNLOCK_SPIN, [&self.name], args, value, redis);
        }
        let args = [ONE_MAY_TRY, lease_ms.as_bytes(), value.field];
        let release = LatchedRelease::of(&self.name, Some(self.publish));
        release.run(&UNLOCK, [&self.name, &self.channel()], args, value, redis)
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::MayFreeAnother
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        let lease_ms = self.lease_ms();
        replies::renew(&RENEW, &[&self.name], &[lease_ms.as_bytes(), HoldValue::of(hold).field], hold, redis)
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        field::ownership(&self.name, HoldValue::of(hold).field, redis)
    }

    fn reentrant_name(&self, owner: &Owner) -> Option<String> {
        Some(owner.thread_name())
    }

    /// Leaves once if the server counts an entry that is not one of the thread's holds.
    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        let field = owner.thread_name();
        if !field::has_surplus_entry(&self.name, field.as_bytes(), owner, redis)? {
            return Ok(());
        }
        let since = redis.clock()?;
        let hold = Hold { value: hold_value::encode(&field, owner), since, lease: self.lease, fence: None };
        self.release(&hold, redis).map(drop)
    }

    fn release_channel(&self, _: &Owner) -> Option<ReleaseChannel> {
        match self.kind {
            Kind::Spin => None,
            Kind::Reentrant | Kind::Fenced | Kind::NonReentrant => Some(self.publish.release_channel(&self.channel())),
        }
    }
}
