//! A client behind a guard, as one protocol: what the explorer places before the simulated server.

use std::sync::Arc;

use super::answer::{Answer, Note};
use super::connection_part::ConnectionPart;
use super::key_session::Grant;
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
    is_renewed: bool,
}

impl Guarded {
    /// This client behind a guard with this rule.
    pub fn new(client: Lock, rule: Arc<Rule>) -> Self {
        Self { client, rule, is_renewed: false }
    }

    /// The same behind a guard that extends the client's lock.
    #[must_use]
    pub fn renewed(self) -> Self {
        Self { is_renewed: true, ..self }
    }

    /// The guard's stamp in the value of a hold.
    #[cfg(feature = "sim")]
    pub(crate) fn stamp_in(held: &[u8]) -> Vec<u8> {
        granted(held).stamp
    }

    /// Runs an operation of the client over the guard, which sends to `redis`. Returns its outcome and the guard's state.
    fn through<T>(
        &self,
        mut connection: ConnectionPart,
        owner: &Owner,
        redis: &mut Transcript,
        operation: impl Fn(&mut Transcript) -> Turn<T>,
    ) -> Turn<(T, ConnectionPart)> {
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
        connection: &ConnectionPart,
        command: &Command,
        owner: &Owner,
        redis: &mut Transcript,
    ) -> Turn<(ConnectionPart, Reply)> {
        let key = self.client.key();
        let is_on_key = command.args().iter().take(3).any(|word| word == key.as_bytes());
        if !is_on_key {
            let mut after = connection.clone();
            after.observe(command);
            return Ok((after, redis.send(command.clone())?));
        }
        let (after, answer) = if connection.is_in_multi() {
            (connection.clone(), connection.queue(&self.rule, key, command, owner).0)
        } else {
            let (after, answer, _) = connection.clone().receive(&self.rule, key, command).serve(owner, true, redis)?;
            (after, answer)
        };
        Ok((
            after,
            match answer {
                Answer::Pass => redis.send(command.clone())?,
                Answer::Send(other) => redis.send(other)?,
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
        let (acquired, connection) = self.through(ConnectionPart::default(), owner, redis, acquire)?;
        Ok(match acquired {
            Acquired::Won(hold) => {
                let written = connection.grant().map_or_else(Vec::new, written);
                Acquired::Won(Hold { value: joined(&hold.value, &written), ..hold })
            }
            held @ Acquired::Held(_) => held,
        })
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let grant = granted(&hold.value);
        let hold = Hold { value: grant.own.clone(), ..hold.clone() };
        let connection = ConnectionPart::holding(grant);
        let release = |redis: &mut Transcript| self.client.release(&hold, redis);
        let owner = Owner::new(crate::lock::Token::new([0; 16]), 0, 0);
        Ok(self.through(connection, &owner, redis, release)?.0)
    }

    /// Whatever the client sends, the guard compares its own stamp in one step.
    fn late_release(&self) -> LateRelease {
        LateRelease::Harmless
    }

    /// What the guard does by itself while the client's connection lives.
    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        if !self.is_renewed {
            return Ok(Extended::Unsupported);
        }
        let since = redis.clock()?;
        let grant = granted(&hold.value);
        let own = grant.own.clone();
        let connection = ConnectionPart::holding(grant);
        let owner = Owner::new(crate::lock::Token::new([0; 16]), 0, 0);
        let length = self.lease().length();
        let (after, note) = connection.renew(&self.rule, self.key(), length, &owner, redis)?;
        Ok(match (note, after.grant()) {
            (Some(Note::Renewed), Some(grant)) => {
                let value = joined(&own, &written(grant));
                Extended::Until(Hold { value, since, lease: self.lease(), fence: None })
            }
            _ => Extended::Lost,
        })
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        let Grant { stamp, token, .. } = granted(&hold.value);
        if let Some((new, token)) = self.rule.key_beside(self.key()).zip(token) {
            return self.ownership_of_both(&new, &token, &stamp, redis);
        }
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

impl Guarded {
    /// Reads the new key's TTL first, its value second and the old key last, as a bridge does. A client whose old key another
    /// client has overwritten or deleted has lost its lock, although new clients are still kept out.
    fn ownership_of_both(&self, new: &Key, token: &[u8], stamp: &[u8], redis: &mut Transcript) -> Turn<Ownership> {
        let left = redis.pttl(new)?.left_of_millis();
        let held = redis.get(new)?;
        let found = match redis.get(self.key()) {
            Err(Pending::Fault(fault)) if fault.code() == Some("WRONGTYPE") => Some(Vec::new()),
            turn => turn?,
        };
        // An old client has written back what it has read, without a TTL.
        let is_written_back = redis.pttl(self.key())?.left_of_millis().is_none();
        let is_ours = held.as_deref() == Some(&[token, b":", stamp].concat()) && found.as_deref() == Some(stamp);
        Ok(match (held, found) {
            (None, None) => Ownership::Free,
            (Some(_), Some(_)) if is_ours && !is_written_back => Ownership::Ours { left },
            (Some(_) | None, _) => Ownership::Theirs,
        })
    }
}

/// What stands between the client's value and what the guard wrote in the value of a hold.
const BETWEEN: &[u8] = b" behind guard ";
/// What stands between the token in the new key and the stamp, in bridge mode.
const BRIDGED: &[u8] = b" bridged ";

/// What the guard wrote, as the end of a hold's value.
fn written(grant: &Grant) -> Vec<u8> {
    let token = grant.token.as_ref().map_or_else(Vec::new, |token| [token, BRIDGED].concat());
    [token, grant.stamp.clone()].concat()
}

fn joined(own: &[u8], written: &[u8]) -> Vec<u8> {
    [own, BETWEEN, written].concat()
}

fn granted(value: &[u8]) -> Grant {
    let (own, written) = split_at(value, BETWEEN).unwrap_or((value, &[]));
    let (token, stamp) = match split_at(written, BRIDGED) {
        Some((token, stamp)) => (Some(token.to_vec()), stamp),
        None => (None, written),
    };
    Grant { own: own.to_vec(), stamp: stamp.to_vec(), token }
}

/// What stands before and behind these words.
fn split_at<'a>(value: &'a [u8], words: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = value.windows(words.len()).position(|window| window == words)?;
    Some((&value[..at], &value[at + words.len()..]))
}
