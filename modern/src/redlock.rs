//! Redlock: a token on a majority of several independent servers.
//!
//! Each command is sent to all servers at the same time; the driver sets how long each server may take to reply. A client
//! that wins a majority holds the lock, and its lease counts from before the first command was sent, less the drift. A
//! failed attempt and a release delete the token on all servers, also on those that refused it or did not reply, because
//! the command may have run there.
//!
//! An extension that a majority confirms writes the token again on the servers that lack it, if it is free there: a holder
//! then survives one restart after another, not only the first. The replies to that do not count, so it can only make a
//! majority larger, as a late vote of the first attempt would.
//!
//! Scripts are sent as text (`EVAL`): a server that reports too late that it does not know a script's hash would not be
//! sent the script again.
//!
//! The servers must be independent masters. A server that loses its data, because it was restarted empty or replaced by a
//! replica that lacks the last writes, can complete a second majority: keep it offline for one lease.
//!
//! Source: Redis documentation, "Distributed Locks with Redis", "The Redlock Algorithm".

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::num::NonZeroU8;
use core::time::Duration;

use lockshift_lock::{
    Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Owner, Ownership, Refusal, Released, Vote, Votes,
};
use lockshift_wire::{
    Command, Expiry, Fault, Key, NoReply, Node, NodeReply, Only, Pending, Reply, Set, Transcript, Ttl, Turn,
};

use crate::token::{EXTEND, RELEASE};

/// A token on a majority of several independent servers.
///
/// ```
/// use core::num::NonZeroU8;
/// use core::time::Duration;
/// use lockshift_lock::Lease;
/// use lockshift_modern::Redlock;
///
/// # fn main() -> Result<(), lockshift_lock::LeaseError> {
/// let five = NonZeroU8::new(5).expect("five is not zero");
/// let lock = Redlock::new("invoices".into(), Lease::new(Duration::from_secs(30))?, five);
/// assert_eq!(lock.majority(), 3);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Redlock {
    key: Key,
    lease: Lease,
    servers: NonZeroU8,
}

impl Redlock {
    /// A lock on `key` with this lease, on this number of servers.
    pub fn new(key: Key, lease: Lease, servers: NonZeroU8) -> Self {
        Self { key, lease, servers }
    }

    /// The number of servers that must agree.
    pub fn majority(&self) -> usize {
        usize::from(self.servers.get()) / 2 + 1
    }
}

impl Locker for Redlock {
    fn key(&self) -> &Key {
        &self.key
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let since = redis.clock()?;
        let token = owner.token.hex().into_bytes();
        let votes: Votes = self.ask_all(&self.claim(&token), redis)?.into_iter().map(vote).collect();
        if votes.granted() >= self.majority() {
            return Ok(Acquired::Won(Hold { value: token, since, lease: self.lease, fence: None }));
        }
        self.delete_everywhere(&token, redis)?;
        Ok(Acquired::Held(Held { votes, ..Held::because(Refusal::NoMajority) }))
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let replies = self.delete_everywhere(&hold.value, redis)?;
        match self.decided(&replies) {
            Some(true) => Ok(Released::Freed),
            Some(false) => Ok(Released::Lost),
            None => self.too_few_answers(RELEASE.eval(&[&self.key], &[&hold.value]), replies),
        }
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
        let extend = EXTEND.eval(&[&self.key], &args);
        let replies = self.ask_all(&extend, redis)?;
        match self.decided(&replies) {
            Some(true) => {
                self.restore(&hold.value, &replies, redis)?;
                Ok(Extended::Until(Hold { since, lease: self.lease, ..hold.clone() }))
            }
            Some(false) => Ok(Extended::Lost),
            None => self.too_few_answers(extend, replies),
        }
    }

    /// Reads the TTLs first and the tokens second, as [`TokenLock`](crate::TokenLock) does.
    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        let ttls = self.ask_all(&Command::new("PTTL").arg(&self.key), redis)?;
        let get = Command::new("GET").arg(&self.key);
        let values = self.ask_all(&get, redis)?;
        let is_ours = |value: &NodeReply| matches!(value.reply(), Some(Reply::Bulk(token)) if *token == hold.value);
        let is_free = |value: &NodeReply| matches!(value.reply(), Some(Reply::Nil));
        let answered = values.iter().filter(|value| matches!(value.reply(), Some(Reply::Nil | Reply::Bulk(_)))).count();
        let ours = values.iter().filter(|value| is_ours(value)).count();
        if ours >= self.majority() {
            let ttls = values.iter().zip(&ttls).filter(|(value, _)| is_ours(value)).map(|(_, ttl)| left(ttl)).collect();
            return Ok(Ownership::Ours { left: self.remaining_on_majority(ttls) });
        }
        if !self.rules_out_majority(answered - ours) {
            return self.too_few_answers(get, values);
        }
        let theirs = answered - ours > values.iter().filter(|value| is_free(value)).count();
        Ok(if theirs { Ownership::Theirs } else { Ownership::Free })
    }

    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        self.delete_everywhere(owner.token.hex().as_bytes(), redis).map(drop)
    }
}

impl Redlock {
    /// `Some(true)` if a majority replied 1, `Some(false)` if so many replied 0 that a majority is impossible, `None` if too
    /// few replied.
    fn decided(&self, replies: &[NodeReply]) -> Option<bool> {
        let count = |number| replies.iter().filter(|reply| **reply == NodeReply::Reply(Reply::Int(number))).count();
        match (count(1), count(0)) {
            (yes, _) if yes >= self.majority() => Some(true),
            (_, no) if self.rules_out_majority(no) => Some(false),
            _ => None,
        }
    }

    /// Whether the servers other than these `against` are fewer than a majority.
    fn rules_out_majority(&self, against: usize) -> bool {
        usize::from(self.servers.get()) - against < self.majority()
    }

    fn too_few_answers<T>(&self, command: Command, replies: Vec<NodeReply>) -> Turn<T> {
        Err(Pending::Fault(Fault::TooFewAnswers { command, replies, needed: self.majority() }))
    }

    /// The remaining time for which a majority holds the token, from the TTL on each server that has it.
    fn remaining_on_majority(&self, mut ttls: Vec<Ttl>) -> Option<Duration> {
        ttls.sort_unstable_by_key(|ttl| core::cmp::Reverse(ttl.left_of_millis().unwrap_or(Duration::MAX)));
        ttls.get(self.majority() - 1)?.left_of_millis()
    }

    /// Asks a server for its vote.
    fn claim(&self, token: &[u8]) -> Command {
        Set::new(&self.key, token).only(Only::IfMissing).expiry(Expiry::Px(self.lease.length())).command()
    }

    /// Writes the token again on the servers that replied to the extension that they lack it, where it is free: they have
    /// lost it, or never granted it. Only for a holder whom a majority has confirmed.
    fn restore(&self, token: &[u8], extended: &[NodeReply], redis: &mut Transcript) -> Turn<()> {
        let lacks = |reply: &NodeReply| *reply == NodeReply::Reply(Reply::Int(0));
        let without = self.nodes().zip(extended).filter(|(_, reply)| lacks(reply));
        let claims: Vec<Command> = without.map(|(node, _)| self.claim(token).on(node)).collect();
        redis.round(&claims).map(drop)
    }

    /// Deletes the token on all servers, also on those that should not have it.
    fn delete_everywhere(&self, token: &[u8], redis: &mut Transcript) -> Turn<Vec<NodeReply>> {
        self.ask_all(&RELEASE.eval(&[&self.key], &[token]), redis)
    }

    /// Sends the command to all servers at once. Returns the reply of each, or why none arrived.
    fn ask_all(&self, command: &Command, redis: &mut Transcript) -> Turn<Vec<NodeReply>> {
        let commands: Vec<Command> = self.nodes().map(|node| command.clone().on(node)).collect();
        redis.round(&commands)
    }

    fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        (0..self.servers.get()).map(Node)
    }
}

fn vote(reply: NodeReply) -> Vote {
    match reply {
        NodeReply::Reply(Reply::Status(text)) if text == "OK" => Vote::Granted,
        NodeReply::Reply(Reply::Nil) => Vote::Held,
        NodeReply::Reply(Reply::Error(error)) => Vote::Refused(error),
        NodeReply::Reply(reply) => Vote::Refused(format!("unexpected reply {reply}")),
        NodeReply::NoReply(NoReply::Unreachable) => Vote::Unreachable,
        NodeReply::NoReply(NoReply::TooSlow) => Vote::TooSlow,
    }
}

/// The reply to PTTL; 0 for a server that did not reply.
fn left(reply: &NodeReply) -> Ttl {
    match reply.reply() {
        Some(Reply::Int(left_ms)) => Ttl(*left_ms),
        _ => Ttl(0),
    }
}
