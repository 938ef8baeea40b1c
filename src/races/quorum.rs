//! A lock on a majority of independent servers, asked one after the other as the article tells it, without the release on
//! all of them after a failed try.
//!
//! Source: Jedis article, Redlock part.

use std::num::NonZeroU8;

use crate::lock::{Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Owner, Ownership, Refusal, Released};
use crate::wire::{Command, Expiry, Key, Node, Only, Reply, Script, Set, Transcript, Turn, script_file};

/// The article's compare-and-delete.
const RELEASE: Script = script_file!("quorum/release.lua");

/// How many servers there are.
pub(super) const SERVERS: NonZeroU8 = NonZeroU8::new(3).expect("three is not zero");
const MAJORITY: usize = 2;

/// A token on a majority of three servers.
#[derive(Clone, Debug)]
pub(super) struct Quorum {
    key: Key,
    lease: Lease,
}

impl Quorum {
    /// This lock.
    pub(super) fn new(key: Key, lease: Lease) -> Self {
        Self { key, lease }
    }

    /// Deletes the token wherever it is; on how many servers it was.
    fn release_everywhere(&self, token: &[u8], redis: &mut Transcript) -> Turn<usize> {
        let mut freed = 0;
        for node in (0..SERVERS.get()).map(Node) {
            let reply = redis.send(RELEASE.eval(&[&self.key], &[token]).on(node))?;
            freed += usize::from(reply == Reply::Int(1));
        }
        Ok(freed)
    }
}

impl Locker for Quorum {
    fn key(&self) -> &Key {
        &self.key
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let token = owner.token.hex().into_bytes();
        let set = Set::new(&self.key, &token).only(Only::IfMissing).expiry(Expiry::Px(self.lease.length())).command();
        let since = redis.clock()?;
        let mut won = 0;
        for node in (0..SERVERS.get()).map(Node) {
            won += usize::from(redis.send(set.clone().on(node))? == Reply::ok());
        }
        if won >= MAJORITY && redis.clock()?.mono.saturating_since(since.mono) < self.lease.validity() {
            return Ok(Acquired::Won(Hold { value: token, since, lease: self.lease, fence: None }));
        }
        Ok(Acquired::Held(Held::because(Refusal::Live)))
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let freed = self.release_everywhere(&hold.value, redis)?;
        Ok(if freed > 0 { Released::Freed } else { Released::Lost })
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::Harmless
    }

    fn extend(&self, _: &Hold, _: &mut Transcript) -> Turn<Extended> {
        Ok(Extended::Unsupported)
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        let mut ours = 0;
        for node in (0..SERVERS.get()).map(Node) {
            let value = redis.send(Command::new("GET").arg(&self.key).on(node))?;
            ours += usize::from(value == Reply::bulk(&hold.value));
        }
        Ok(if ours >= MAJORITY { Ownership::Ours { left: None } } else { Ownership::Theirs })
    }
}
