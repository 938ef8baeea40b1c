//! A read/write lock with an entry, and a lease, for every reader.
//!
//! The writer is a token in a key of its own; the readers are the members of a sorted set, each scored with the
//! server's millisecond at which its lease ends. A writer that finds readers blocks new readers until the lease of the last
//! present reader ends. All keys are in one hash slot, and only the server's clock counts.

use alloc::string::ToString;
use core::time::Duration;

use lockshift_lock::{
    Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Mode, Owner, Ownership, Refusal, ReleaseChannel,
    Released,
};
use lockshift_wire::{Key, Script, Transcript, Turn, script_file};

use crate::{Publish, member};

const READ: Script = script_file!("lua/rw/read.lua");
const WRITE: Script = script_file!("lua/rw/write.lua");
const LEAVE: Script = script_file!("lua/rw/leave.lua");
const EXTEND: Script = script_file!("lua/rw/extend.lua");

/// One side of a read/write lock.
#[derive(Clone, Debug)]
pub struct ReadWriteLock {
    writer: Key,
    readers: Key,
    waiting: Key,
    mode: Mode,
    lease: Lease,
    announced: Option<(Publish, Key)>,
}

impl ReadWriteLock {
    /// The `mode` side of the read/write lock on `key` with this lease.
    pub fn new(key: Key, mode: Mode, lease: Lease) -> Self {
        let (readers, waiting) = (key.sibling("readers"), key.sibling("writer-waits"));
        Self { readers, waiting, writer: key, mode, lease, announced: None }
    }

    /// Publishes releases on the channel `{key}:released`, so that waiters need not poll. All waiters are woken when a
    /// writer releases or stops waiting, and when the last reader releases. Both sides must agree on this.
    #[must_use]
    pub fn announced(self, announce: Publish) -> Self {
        Self { announced: Some((announce, self.writer.sibling("released"))), ..self }
    }

    /// Removes the token from all keys. Returns whether it held the lock.
    fn leave(&self, token: &[u8], redis: &mut Transcript) -> Turn<bool> {
        let keys = [&self.writer, &self.readers, &self.waiting];
        match &self.announced {
            None => redis.script_flag(&LEAVE, &keys, &[token]),
            Some((announce, channel)) => {
                redis.script_flag(&LEAVE, &[keys[0], keys[1], keys[2], channel], &[token, announce.command()])
            }
        }
    }
}

impl Locker for ReadWriteLock {
    fn key(&self) -> &Key {
        &self.writer
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    fn mode(&self) -> Mode {
        self.mode
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let token = owner.token.hex().into_bytes();
        let script = match self.mode {
            Mode::Shared => READ,
            Mode::Exclusive => WRITE,
        };
        let since = redis.clock()?;
        let lease_ms = self.lease.length().as_millis().to_string();
        let keys = [&self.writer, &self.readers, &self.waiting];
        let wait_ms = redis.script_int(&script, &keys, &[&token, lease_ms.as_bytes()])?;
        Ok(match u64::try_from(wait_ms) {
            Err(_) => Acquired::Won(Hold { value: token, since, lease: self.lease, fence: None }),
            Ok(wait_ms) => {
                Acquired::Held(Held { retry_in: Some(Duration::from_millis(wait_ms)), ..Held::because(Refusal::Live) })
            }
        })
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let held = self.leave(&hold.value, redis)?;
        Ok(if held { Released::Freed } else { Released::Lost })
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::Harmless
    }

    fn release_is_repeatable(&self) -> bool {
        true
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        let since = redis.clock()?;
        let lease_ms = self.lease.length().as_millis().to_string();
        let args = [hold.value.as_slice(), lease_ms.as_bytes()];
        let extended = redis.script_flag(&EXTEND, &[&self.writer, &self.readers], &args)?;
        Ok(if extended { Extended::Until(Hold { since, ..hold.clone() }) } else { Extended::Lost })
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        match self.mode {
            Mode::Exclusive => self.ownership_of_writer(hold, redis),
            Mode::Shared => member::ownership(&self.readers, &hold.value, redis),
        }
    }

    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        self.leave(owner.token.hex().as_bytes(), redis).map(drop)
    }

    /// Both sides share one channel.
    fn release_channel(&self, _: &Owner) -> Option<ReleaseChannel> {
        self.announced.as_ref().map(|(announce, channel)| announce.release_channel(channel))
    }

    /// Admits new readers again if this writer's attempts blocked them. A waiting reader writes nothing.
    fn withdraw(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        match self.mode {
            Mode::Shared => Ok(()),
            Mode::Exclusive => self.disclaim(owner, redis),
        }
    }
}

impl ReadWriteLock {
    /// Reads the TTL first and the token second, as [`TokenLock`](crate::TokenLock) does.
    fn ownership_of_writer(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        let ttl = redis.pttl(&self.writer)?;
        Ok(match redis.get(&self.writer)? {
            None => Ownership::Free,
            Some(token) if token != hold.value => Ownership::Theirs,
            Some(_) => Ownership::Ours { left: ttl.left_of_millis() },
        })
    }
}
