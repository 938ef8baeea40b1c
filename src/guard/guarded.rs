//! A client behind a guard, as one protocol: what the explorer places before the simulated server.

use std::sync::Arc;

use super::answer::Answer;
use super::connection::Connection;
use super::rule::Rule;
use crate::legacy::Lock;
use crate::lock::{Acquired, Extended, Hold, LateRelease, Lease, Locker, Owner, Ownership, Released};
use crate::wire::{Command, Key, Pending, Reply, Transcript, Turn};

/// A client of an old dialect whose commands go through a guard. Both are on one host and read the same clock, each when
/// it needs it.
#[derive(Clone, Debug)]
pub struct Guarded {
    pub(super) client: Lock,
    rule: Arc<Rule>,
}

impl Guarded {
    /// This client behind a guard with this rule.
    pub fn new(client: Lock, rule: Arc<Rule>) -> Self {
        Self { client, rule }
    }

    /// Runs an operation of the client over the guard, which sends to `redis`. Returns its outcome and the guard's state.
    fn through<T>(
        &self,
        mut connection: Connection,
        owner: &Owner,
        redis: &mut Transcript,
        operation: impl Fn(&mut Transcript) -> Turn<T>,
    ) -> Turn<(T, Connection)> {
        let mut client = Transcript::new();
        loop {
            match operation(client.rewind()) {
                Ok(outcome) => return Ok((outcome, connection)),
                Err(Pending::Clock) => client.record_clock(redis.clock()?),
                Err(Pending::Send(command)) => {
                    let reply;
                    (connection, reply) = self.answer(&connection, &command, owner, redis)?;
                    client.record_reply(reply);
                }
                Err(pending @ (Pending::Fault(_) | Pending::Round(_))) => return Err(pending),
            }
        }
    }

    fn answer(
        &self,
        connection: &Connection,
        command: &Command,
        owner: &Owner,
        redis: &mut Transcript,
    ) -> Turn<(Connection, Reply)> {
        let key = self.client.key();
        let is_on_key = command.args().iter().take(3).any(|word| word == key.as_bytes());
        if !is_on_key {
            let mut after = connection.clone();
            after.observe(command);
            return Ok((after, redis.send(command.clone())?));
        }
        let (after, answer, _) = connection.serve(&self.rule, key, command, owner, redis)?;
        Ok((
            after,
            match answer {
                Answer::Pass => redis.send(command.clone())?,
                Answer::Reply(reply) => reply,
            },
        ))
    }
}

impl Locker for Guarded {
    fn key(&self) -> &Key {
        self.client.key()
    }

    fn lease(&self) -> Lease {
        self.client.lease()
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let acquire = |redis: &mut Transcript| self.client.acquire(owner, redis);
        let (acquired, connection) = self.through(Connection::default(), owner, redis, acquire)?;
        Ok(match acquired {
            Acquired::Won(hold) => {
                let stamp = connection.grant(self.key()).map_or(&[][..], |(_, stamp)| stamp);
                Acquired::Won(Hold { value: joined(&hold.value, stamp), ..hold })
            }
            held @ Acquired::Held(_) => held,
        })
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let (own, stamp) = parts(&hold.value);
        let connection = Connection::holding(self.key().clone(), own.to_vec(), stamp.to_vec());
        let hold = Hold { value: own.to_vec(), ..hold.clone() };
        let release = |redis: &mut Transcript| self.client.release(&hold, redis);
        let owner = Owner::new(crate::lock::Token::new([0; 16]), 0, 0);
        Ok(self.through(connection, &owner, redis, release)?.0)
    }

    /// Whatever the client sends, the guard compares its own stamp in one step.
    fn late_release(&self) -> LateRelease {
        LateRelease::Harmless
    }

    fn extend(&self, _hold: &Hold, _redis: &mut Transcript) -> Turn<Extended> {
        Ok(Extended::Unsupported)
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        let (_, stamp) = parts(&hold.value);
        match redis.get(self.key()) {
            Err(Pending::Fault(fault)) if fault.code() == Some("WRONGTYPE") => Ok(Ownership::Theirs),
            Ok(None) => Ok(Ownership::Free),
            Ok(Some(found)) if found != stamp => Ok(Ownership::Theirs),
            Ok(Some(_)) => Ok(match redis.pttl(self.key())?.left_of_millis() {
                // An old client has written back what it has read.
                None if self.rule.has_ttl() => Ownership::Theirs,
                left => Ownership::Ours { left },
            }),
            Err(pending) => Err(pending),
        }
    }
}

/// What stands between the client's value and the guard's stamp in the value of a hold.
const BETWEEN: &[u8] = b" behind guard ";

fn joined(own: &[u8], stamp: &[u8]) -> Vec<u8> {
    [own, BETWEEN, stamp].concat()
}

fn parts(value: &[u8]) -> (&[u8], &[u8]) {
    let at = value.windows(BETWEEN.len()).position(|window| window == BETWEEN).unwrap_or(value.len());
    (&value[..at], value.get(at + BETWEEN.len()..).unwrap_or_default())
}
