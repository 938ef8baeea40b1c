//! A caller that passes `2.5` for a lease in whole seconds.

use crate::legacy::Lock;
use crate::lock::{Acquired, Extended, Hold, LateRelease, Lease, Locker, Owner, Ownership, Released};
use crate::wire::{Command, Key, Pending, Transcript, Turn};

/// A lock whose caller appends half a second to whatever number of seconds it passes. Redis refuses such an EXPIRE.
#[derive(Clone, Debug)]
pub(in super::super) struct FractionalLease {
    lock: Lock,
}

impl FractionalLease {
    /// This lock in the hands of that caller.
    pub(in super::super) fn new(lock: Lock) -> Self {
        Self { lock }
    }

    /// The command, with the lease as the caller passes it where it ends with one.
    fn careless(&self, command: &Command) -> Command {
        let mut words = command.words().to_vec();
        if let Some(lease) = words.last_mut().filter(|word| **word == self.lease_secs()) {
            *lease = [lease, &b".5"[..]].concat().into();
        }
        Command::from_words(words).expect("a command has a name")
    }

    fn lease_secs(&self) -> Vec<u8> {
        self.lock.lease().length().as_secs().to_string().into_bytes()
    }
}

impl Locker for FractionalLease {
    fn key(&self) -> &Key {
        self.lock.key()
    }

    fn lease(&self) -> Lease {
        self.lock.lease()
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let mut inner = Transcript::new();
        loop {
            match self.lock.acquire(owner, inner.rewind()) {
                Err(Pending::Clock) => inner.record_clock(redis.clock()?),
                Err(Pending::Send(command)) => inner.record_reply(redis.send(self.careless(&command))?),
                Err(Pending::Round(commands)) => {
                    let careless: Vec<_> = commands.iter().map(|command| self.careless(command)).collect();
                    for (command, heard) in commands.iter().zip(redis.round(&careless)?) {
                        inner.record_node_reply(command.node(), heard);
                    }
                }
                ended @ (Ok(_) | Err(Pending::Fault(_))) => return ended,
            }
        }
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        self.lock.release(hold, redis)
    }

    fn late_release(&self) -> LateRelease {
        self.lock.late_release()
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        self.lock.extend(hold, redis)
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        self.lock.ownership(hold, redis)
    }
}
