//! The re-entrant lock: a hash with one field, named after the owner, which counts the owner's entries.
//!
//! It behaves as its source describes. The lease counts in whole seconds; a release does not change the TTL unless it is
//! the last one; and an owner that enters again after its lease has expired starts a new count, so that a release for an
//! earlier entry ends the new one. The source publishes no release notification. An owner is a thread of a program, so a
//! client whose reply was lost compares the count with the number of holds that its program knows of.
//!
//! Source: "Distributed lock by Redis", "re-entrant lock (hash and Lua)" and "automatic renewal 1.0".

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use lockshift_lock::{
    Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Owner, Ownership, Refusal, ReleaseChannel, Released,
};
use lockshift_wire::{Key, Reply, Script, Transcript, Turn, script_file};

use crate::{Publish, fence, field};

const ACQUIRE: Script = script_file!("lua/reentrant/acquire.lua");
const ACQUIRE_FENCED: Script = script_file!("lua/reentrant/acquire_fenced.lua");
const RELEASE: Script = script_file!("lua/reentrant/release.lua");
const RELEASE_ANNOUNCED: Script = script_file!("lua/reentrant/release_announced.lua");
const RENEW: Script = script_file!("lua/reentrant/renew.lua");

/// A lock that its owner may enter again. The owner must release it once for every entry.
///
/// The owner is [`Owner::thread_name`]: all acquisitions of one thread of one program.
///
/// A known weakness: the name is the same in all attempts. A request that reaches the server late, after its sender gave up,
/// may so delete a later hold of the same thread, and another client acquires beside it. [`TokenLock`](crate::TokenLock) has
/// a new token in each attempt.
#[derive(Clone, Debug)]
pub struct ReentrantLock {
    key: Key,
    lease: Lease,
    counter: Option<Key>,
    announced: Option<(Publish, Key)>,
}

impl ReentrantLock {
    /// A re-entrant lock on `key` with this lease, which is rounded up to whole seconds.
    pub fn new(key: Key, lease: Lease) -> Self {
        Self { key, lease: lease.rounded_up_to(Duration::from_secs(1)), counter: None, announced: None }
    }

    /// Issues a [`fence`](Hold::fence) for every entry, counted in the sibling key `fence`, where
    /// [`FencedTokenLock`](crate::FencedTokenLock) counts. The hash is the same, so both kinds can share it.
    #[must_use]
    pub fn fenced(self) -> Self {
        Self { counter: Some(self.key.sibling("fence")), ..self }
    }

    /// Publishes each release on the channel `{key}:released`, which the article's programs neither publish nor subscribe
    /// to. A release wakes one waiter of each program, and a client whose attempt fails also reads the remaining lease.
    #[must_use]
    pub fn announced(self, announce: Publish) -> Self {
        Self { announced: Some((announce, self.key.sibling("released"))), ..self }
    }

    fn lease_s(&self) -> String {
        self.lease.length().as_secs().to_string()
    }

    /// Runs the acquiring script. Returns whether the owner has entered, and the fence.
    fn enter(&self, owner: &[u8], redis: &mut Transcript) -> Turn<(bool, Option<u64>)> {
        let lease_s = self.lease_s();
        let args = [owner, lease_s.as_bytes()];
        match &self.counter {
            None => Ok((redis.script_flag(&ACQUIRE, &[&self.key], &args)?, None)),
            Some(counter) => {
                let fence = fence::count(&ACQUIRE_FENCED, &[&self.key, counter], &args, redis)?;
                Ok((fence.is_some(), fence))
            }
        }
    }
}

impl Locker for ReentrantLock {
    fn key(&self) -> &Key {
        &self.key
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let value = owner.thread_name().into_bytes();
        let since = redis.clock()?;
        let (entered, fence) = self.enter(&value, redis)?;
        Ok(if entered {
            Acquired::Won(Hold { value, since, lease: self.lease, fence })
        } else {
            let retry_in = match self.announced {
                None => None,
                Some(_) => redis.pttl(&self.key)?.left_of_millis(),
            };
            Acquired::Held(Held { retry_in, ..Held::because(Refusal::Live) })
        })
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let (script, keys, args): (_, Vec<&Key>, Vec<&[u8]>) = match &self.announced {
            None => (RELEASE, vec![&self.key], vec![&hold.value]),
            Some((announce, channel)) => {
                (RELEASE_ANNOUNCED, vec![&self.key, channel], vec![&hold.value, announce.command()])
            }
        };
        match redis.script(&script, &keys, &args)? {
            Reply::Nil => Ok(Released::Lost),
            Reply::Int(0) => Ok(Released::StillHeld),
            Reply::Int(1) => Ok(Released::Freed),
            other => Transcript::fault(script.evalsha(&keys, &args), other),
        }
    }

    fn reentrant_name(&self, owner: &Owner) -> Option<String> {
        Some(owner.thread_name())
    }

    /// Leaves once if the server counts an entry that is not one of the thread's holds.
    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        let value = owner.thread_name().into_bytes();
        if !field::has_surplus_entry(&self.key, &value, owner, redis)? {
            return Ok(());
        }
        let since = redis.clock()?;
        self.release(&Hold { value, since, lease: self.lease, fence: None }, redis).map(drop)
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::MayFreeAnother
    }

    fn release_channel(&self, _: &Owner) -> Option<ReleaseChannel> {
        self.announced.as_ref().map(|(announce, channel)| announce.release_channel(channel))
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        let since = redis.clock()?;
        let renewed = redis.script_flag(&RENEW, &[&self.key], &[&hold.value, self.lease_s().as_bytes()])?;
        Ok(if renewed { Extended::Until(Hold { since, ..hold.clone() }) } else { Extended::Lost })
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        field::ownership(&self.key, &hold.value, redis)
    }
}
