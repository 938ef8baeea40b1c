//! A lock that is acquired only where its key can hold it. Some old clients take any error for an empty key: on a key of
//! another type they believe that they have acquired it, run unlocked, and delete it at the end. A command must not, and no program of today.

use super::modern::KeyType;
use crate::lock::{
    Acquired, Extended, Hold, LateRelease, Lease, Locker, Mode, Owner, Ownership, RefusalScope, ReleaseChannel,
    Released,
};
use crate::wire::{Command, Key, Node, NodeReply, Reading, Reply, Transcript, Turn};

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// A lock that looks at the type of its key before and after each attempt.
pub(super) struct Typed {
    locker: Arc<dyn Locker>,
    key_type: KeyType,
    servers: u8,
}

impl Typed {
    /// This lock, whose key is of this type, on so many independent servers.
    pub(super) fn new(locker: Arc<dyn Locker>, key_type: KeyType, servers: u8) -> Self {
        Self { locker, key_type, servers }
    }

    /// Leaves with WRONGTYPE where the key cannot hold this lock: on one server, or on so many of several that the others are no
    /// majority. Of several servers, one that does not answer, or refuses, is left to the lock, which does without a minority.
    fn look(&self, redis: &mut Transcript) -> Turn<()> {
        let ask = Command::new("TYPE").arg(self.locker.key().as_bytes());
        let replies = match self.servers {
            1 => vec![redis.send(ask.clone())?],
            servers => {
                let commands: Vec<_> = (0..servers).map(|place| ask.clone().on(Node(place))).collect();
                let heard = redis.round(&commands)?;
                heard
                    .into_iter()
                    .filter_map(|heard| match heard {
                        NodeReply::Reply(reply) => Some(reply),
                        NodeReply::NoReply(_) => None,
                    })
                    .collect()
            }
        };
        let mut of_another_type = 0;
        for reply in replies {
            match reply {
                Reply::Status(kind) if kind == "none" || kind == self.key_type.redis_name() => {}
                Reply::Status(_) => of_another_type += 1,
                // A user that may not ask runs the lock as its clients do: those of most are refused a wrong type.
                Reply::Error(_) if reply.error_code() == Some("NOPERM") => {}
                _ if self.servers > 1 => {}
                Reply::Error(_) | Reply::Int(_) | Reply::Bulk(_) | Reply::Array(_) | Reply::Nil => {
                    return Transcript::fault(ask, reply);
                }
            }
        }
        if of_another_type > (self.servers - 1) / 2 {
            return Transcript::fault(ask, Reply::Error(WRONG_TYPE.to_owned()));
        }
        Ok(())
    }
}

/// As a command that writes would be refused.
const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";

#[deny(clippy::missing_trait_methods, reason = "a default in place of what the protocol says would be a silent lie")]
impl Locker for Typed {
    fn key(&self) -> &Key {
        self.locker.key()
    }

    fn lease(&self) -> Lease {
        self.locker.lease()
    }

    fn expires(&self) -> bool {
        self.locker.expires()
    }

    fn mode(&self) -> Mode {
        self.locker.mode()
    }

    fn max_sharers(&self) -> Option<NonZeroU32> {
        self.locker.max_sharers()
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        self.look(redis)?;
        let acquired = self.locker.acquire(owner, redis)?;
        if matches!(acquired, Acquired::Won(_)) {
            self.look(redis)?;
        }
        Ok(acquired)
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        self.locker.release(hold, redis)
    }

    fn late_release(&self) -> LateRelease {
        self.locker.late_release()
    }

    fn release_is_repeatable(&self) -> bool {
        self.locker.release_is_repeatable()
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        self.locker.extend(hold, redis)
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        self.locker.ownership(hold, redis)
    }

    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        self.locker.disclaim(owner, redis)
    }

    fn reentrant_name(&self, owner: &Owner) -> Option<String> {
        self.locker.reentrant_name(owner)
    }

    fn release_channel(&self, owner: &Owner) -> Option<ReleaseChannel> {
        self.locker.release_channel(owner)
    }

    fn refusal_scope(&self) -> RefusalScope {
        self.locker.refusal_scope()
    }

    fn granted(&self, owner: &Owner, since: Reading, message: &[u8]) -> Option<Hold> {
        self.locker.granted(owner, since, message)
    }

    fn withdraw(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        self.locker.withdraw(owner, redis)
    }

    fn longest_pause(&self) -> Option<Duration> {
        self.locker.longest_pause()
    }

    fn needs_own_connection(&self) -> bool {
        self.locker.needs_own_connection()
    }
}
