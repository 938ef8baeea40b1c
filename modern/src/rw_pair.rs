//! The read/write lock of a pair of keys: one key for all readers, one for the writer, both with the constant `1`.
//!
//! It is supported because programs run it. Neither key names its owner, so the first reader that releases deletes the key
//! of all the others, and a writer can acquire beside them; and two keys of one script fail on a cluster.
//!
//! Source: "Redis distributed read/write lock", single-instance version.

use alloc::string::ToString;
use core::time::Duration;

use lockshift_lock::{
    Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Mode, Owner, Ownership, Refusal, Released,
};
use lockshift_wire::{Key, Script, Transcript, Turn, script_file};

const READ: Script = script_file!("lua/rw_pair/read.lua");
const WRITE: Script = script_file!("lua/rw_pair/write.lua");

/// One side of a read/write lock of two keys.
#[derive(Clone, Debug)]
pub struct PairLock {
    readers: Key,
    writer: Key,
    mode: Mode,
    lease: Lease,
}

impl PairLock {
    /// The `mode` side of the lock on these two keys; the lease is rounded up to whole seconds.
    pub fn new(readers: Key, writer: Key, mode: Mode, lease: Lease) -> Self {
        Self { readers, writer, mode, lease: lease.rounded_up_to(Duration::from_secs(1)) }
    }
}

impl Locker for PairLock {
    fn key(&self) -> &Key {
        match self.mode {
            Mode::Shared => &self.readers,
            Mode::Exclusive => &self.writer,
        }
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    fn mode(&self) -> Mode {
        self.mode
    }

    fn acquire(&self, _: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let script = match self.mode {
            Mode::Shared => READ,
            Mode::Exclusive => WRITE,
        };
        let since = redis.clock()?;
        let lease_s = self.lease.length().as_secs().to_string();
        if redis.script_flag(&script, &[&self.readers, &self.writer], &[lease_s.as_bytes()])? {
            return Ok(Acquired::Won(Hold { value: b"1".to_vec(), since, lease: self.lease, fence: None }));
        }
        Ok(Acquired::Held(Held::because(Refusal::Live)))
    }

    fn release(&self, _: &Hold, redis: &mut Transcript) -> Turn<Released> {
        Ok(if redis.del(self.key())? { Released::Freed } else { Released::Lost })
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::MayFreeAnother
    }

    fn extend(&self, _: &Hold, _: &mut Transcript) -> Turn<Extended> {
        Ok(Extended::Unsupported)
    }

    fn ownership(&self, _: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        let left = redis.pttl(self.key())?;
        Ok(if left == lockshift_wire::Ttl::NO_KEY {
            Ownership::Free
        } else {
            Ownership::Indistinct { left: left.left_of_millis() }
        })
    }
}
