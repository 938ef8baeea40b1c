//! The read/write lock of one hash: a field for all readers, a field for the writer, each the millisecond of the last
//! acquisition.
//!
//! It is supported because programs run it. A later reader's stamp replaces an earlier one, so one release ends the hold
//! of all readers; and the millisecond is the only identity of a holder.
//!
//! Source: "Redis distributed read/write lock", cluster version.

use alloc::string::ToString;
use core::time::Duration;

use lockshift_lock::{
    Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Mode, Owner, Ownership, Refusal, Released,
};
use lockshift_wire::{Command, Key, Reply, Script, Transcript, Turn, script_file};

const READ: Script = script_file!("lua/rw_hash/read.lua");
const WRITE: Script = script_file!("lua/rw_hash/write.lua");
const RELEASE: Script = script_file!("lua/rw_hash/release.lua");

/// One side of a read/write lock in a hash of stamps.
#[derive(Clone, Debug)]
pub struct StampHashLock {
    key: Key,
    mode: Mode,
    read_lease: Lease,
    write_lease: Lease,
}

impl StampHashLock {
    /// The `mode` side of the lock in the hash `key`. All clients of one key must agree on both leases.
    pub fn new(key: Key, mode: Mode, read_lease: Lease, write_lease: Lease) -> Self {
        Self { key, mode, read_lease, write_lease }
    }

    fn field(&self) -> &'static [u8] {
        match self.mode {
            Mode::Shared => b"read",
            Mode::Exclusive => b"write",
        }
    }

    /// The TTL of the hash after the last acquisition: longer than either lease.
    fn key_ttl(&self) -> Duration {
        self.read_lease.length().max(self.write_lease.length()) + Duration::from_secs(7)
    }
}

impl Locker for StampHashLock {
    fn key(&self) -> &Key {
        &self.key
    }

    fn lease(&self) -> Lease {
        match self.mode {
            Mode::Shared => self.read_lease,
            Mode::Exclusive => self.write_lease,
        }
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
        let stamp = since.wall.as_millis().to_string();
        let [ttl, read, write] = [self.key_ttl(), self.read_lease.length(), self.write_lease.length()]
            .map(|length| length.as_millis().to_string());
        let args = [ttl.as_bytes(), read.as_bytes(), write.as_bytes(), stamp.as_bytes()];
        if redis.script_flag(&script, &[&self.key], &args)? {
            return Ok(Acquired::Won(Hold { value: stamp.into_bytes(), since, lease: self.lease(), fence: None }));
        }
        Ok(Acquired::Held(Held::because(Refusal::Live)))
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let removed = redis.script_flag(&RELEASE, &[&self.key], &[self.field(), &hold.value])?;
        Ok(if removed { Released::Freed } else { Released::Lost })
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::MayFreeAnother
    }

    fn extend(&self, _: &Hold, _: &mut Transcript) -> Turn<Extended> {
        Ok(Extended::Unsupported)
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        let command = Command::new("HGET").arg(&self.key).arg(self.field());
        match redis.send(command.clone())? {
            Reply::Nil => Ok(Ownership::Free),
            Reply::Bulk(stamp) if stamp == hold.value => Ok(Ownership::Indistinct { left: None }),
            Reply::Bulk(_) => Ok(Ownership::Theirs),
            reply => Transcript::fault(command, reply),
        }
    }
}
