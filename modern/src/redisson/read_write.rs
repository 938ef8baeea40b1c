//! The read/write lock.
//!
//! The hash has a field `mode` beside its owners; a writer's field ends with `:write`. Every entry of a reader has its
//! own key that expires with its lease, and when a reader releases, the TTL of the hash becomes the longest of these. A
//! writer may become a reader before it releases; no notification is sent then, so waiting readers are not woken. A reader
//! cannot become a writer: it would wait for itself.

use alloc::format;
use alloc::string::{String, ToString};
use core::time::Duration;

use lockshift_lock::{
    Acquired, Extended, Hold, LateRelease, Lease, Locker, Mode, Owner, Ownership, ReleaseChannel, Released,
};
use lockshift_wire::{Key, Script, Transcript, Turn, script_file};

use super::hold_value::{self, HoldValue};
use super::latched_release::LatchedRelease;
use super::mutex::ONE_MAY_TRY;
use super::names::{prefixed, read_leases, tagged};
use super::replies;
use crate::Publish;
use crate::field;

const READ: Script = script_file!("../lua/redisson/read/acquire.lua");
const READ_UNLOCK: Script = script_file!("../lua/redisson/read/unlock.lua");
const READ_RENEW: Script = script_file!("../lua/redisson/read/renew.lua");
const WRITE: Script = script_file!("../lua/redisson/write/acquire.lua");
const WRITE_UNLOCK: Script = script_file!("../lua/redisson/write/unlock.lua");
const WRITE_RENEW: Script = script_file!("../lua/redisson/renew.lua");

/// The message of a writer's release: all waiters may try.
const ALL_MAY_TRY: &[u8] = b"1";

/// One side of a read/write lock.
#[derive(Clone, Debug)]
pub struct ReadWrite {
    name: Key,
    mode: Mode,
    lease: Lease,
    publish: Publish,
}

impl ReadWrite {
    /// The `mode` side of the read/write lock of this name with this lease; releases are sent by PUBLISH.
    pub fn new(name: Key, mode: Mode, lease: Lease) -> Self {
        Self { name, mode, lease: lease.rounded_up_to(Duration::from_millis(1)), publish: Publish::default() }
    }

    /// Publishes releases with this command.
    #[must_use]
    pub fn publish(self, publish: Publish) -> Self {
        Self { publish, ..self }
    }

    fn channel(&self) -> Key {
        prefixed("redisson_rwlock", &self.name)
    }

    fn lease_ms(&self) -> String {
        self.lease.length().as_millis().to_string()
    }

    /// The owner's field in the hash, on this side of the lock.
    fn field(&self, owner: &Owner) -> String {
        match self.mode {
            Mode::Shared => owner.thread_name(),
            Mode::Exclusive => format!("{}:write", owner.thread_name()),
        }
    }
}

impl Locker for ReadWrite {
    fn key(&self) -> &Key {
        &self.name
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    fn mode(&self) -> Mode {
        self.mode
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let reader = owner.thread_name();
        let writer = format!("{reader}:write");
        let since = redis.clock()?;
        let lease_ms = self.lease_ms();
        let (field, held) = match self.mode {
            Mode::Shared => {
                let keys = [&self.name, &read_leases(&self.name, reader.as_bytes())];
                let args = [lease_ms.as_bytes(), reader.as_bytes(), writer.as_bytes()];
                (&reader, replies::enter(&READ, &keys, &args, redis)?)
            }
            Mode::Exclusive => {
                let args = [lease_ms.as_bytes(), writer.as_bytes()];
                (&writer, replies::enter(&WRITE, &[&self.name], &args, redis)?)
            }
        };
        Ok(match held {
            None => {
                Acquired::Won(Hold { value: hold_value::encode(field, owner), since, lease: self.lease, fence: None })
            }
            Some(held) => Acquired::Held(held),
        })
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let value = HoldValue::of(hold);
        let release = LatchedRelease::of(&self.name, Some(self.publish));
        match self.mode {
            Mode::Shared => {
                let (channel, leases) = (self.channel(), read_leases(&self.name, value.field));
                let keys = [&self.name, &channel, &leases, &tagged(&self.name)];
                release.run(&READ_UNLOCK, keys, [ONE_MAY_TRY, value.field], value, redis)
            }
            Mode::Exclusive => {
                let lease_ms = self.lease_ms();
                let args = [ALL_MAY_TRY, lease_ms.as_bytes(), value.field];
                release.run(&WRITE_UNLOCK, [&self.name, &self.channel()], args, value, redis)
            }
        }
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::MayFreeAnother
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        let field = HoldValue::of(hold).field;
        let lease_ms = self.lease_ms();
        match self.mode {
            Mode::Shared => {
                let keys = [&self.name, &tagged(&self.name)];
                replies::renew(&READ_RENEW, &keys, &[lease_ms.as_bytes(), b"1", field], hold, redis)
            }
            Mode::Exclusive => replies::renew(&WRITE_RENEW, &[&self.name], &[lease_ms.as_bytes(), field], hold, redis),
        }
    }

    /// The time is that of the whole lock, which may outlive a reader's own lease.
    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        field::ownership(&self.name, HoldValue::of(hold).field, redis)
    }

    fn reentrant_name(&self, owner: &Owner) -> Option<String> {
        Some(self.field(owner))
    }

    /// Leaves once if the server counts an entry that is not one of the thread's holds.
    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        let field = self.field(owner);
        if !field::has_surplus_entry(&self.name, field.as_bytes(), owner, redis)? {
            return Ok(());
        }
        let since = redis.clock()?;
        let hold = Hold { value: hold_value::encode(&field, owner), since, lease: self.lease, fence: None };
        self.release(&hold, redis).map(drop)
    }

    fn release_channel(&self, _: &Owner) -> Option<ReleaseChannel> {
        Some(self.publish.release_channel(&self.channel()))
    }
}
