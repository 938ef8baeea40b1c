//! Redlock: a token on most of several servers that know nothing of each other.
//!
//! All servers are asked at the same time, and whoever runs this says how long each may take to answer. A majority makes
//! a holder, whose lease counts from before the first command was sent, less the drift. A try that fails, and every
//! release, is taken back on all servers, also on those that refused it or never answered: the command may have run.
//!
//! Scripts are sent by their text: a server that answers too late that it does not know a script by its name would not be
//! told a second time.
//!
//! The servers must be independent masters. One that forgets, because it was restarted empty or replaced by a replica
//! that lacks the last writes, can make a second majority: it has to stay away for a lease.
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
    Command, Expiry, Fault, Heard, Key, Node, Only, Pending, Reply, Set, Silence, Transcript, Ttl, Turn,
};

use crate::token::{EXTEND, RELEASE};

/// A token on most of several independent servers.
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
    /// A lock on the key of this name on each of so many servers, for `lease` at a time.
    pub fn new(key: Key, lease: Lease, servers: NonZeroU8) -> Self {
        Self { key, lease, servers }
    }

    /// How many servers must agree.
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
        let set = Set::new(&self.key, &token).only(Only::IfMissing).expiry(Expiry::Px(self.lease.length()));
        let votes: Votes = self.ask_all(&set.command(), redis)?.into_iter().map(vote).collect();
        if votes.granted() >= self.majority() {
            return Ok(Acquired::Won(Hold { value: token, since, lease: self.lease, fence: None }));
        }
        self.delete_everywhere(&token, redis)?;
        Ok(Acquired::Held(Held { votes, ..Held::because(Refusal::NoMajority) }))
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let heard = self.delete_everywhere(&hold.value, redis)?;
        match self.decided(&heard) {
            Some(true) => Ok(Released::Freed),
            Some(false) => Ok(Released::Lost),
            None => self.too_few_answers(RELEASE.eval(&[&self.key], &[&hold.value]), heard),
        }
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::Harmless
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        let since = redis.clock()?;
        let lease_ms = self.lease.length().as_millis().to_string();
        let args = [hold.value.as_slice(), lease_ms.as_bytes()];
        let extend = EXTEND.eval(&[&self.key], &args);
        let heard = self.ask_all(&extend, redis)?;
        match self.decided(&heard) {
            Some(true) => Ok(Extended::Until(Hold { since, lease: self.lease, ..hold.clone() })),
            Some(false) => Ok(Extended::Lost),
            None => self.too_few_answers(extend, heard),
        }
    }

    /// First for how long, then whose, as with [`TokenLock`](crate::TokenLock).
    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        let ttls = self.ask_all(&Command::new("PTTL").arg(&self.key), redis)?;
        let get = Command::new("GET").arg(&self.key);
        let values = self.ask_all(&get, redis)?;
        let is_ours = |value: &Heard| matches!(value.reply(), Some(Reply::Bulk(token)) if *token == hold.value);
        let is_free = |value: &Heard| matches!(value.reply(), Some(Reply::Nil));
        let answered = values.iter().filter(|value| matches!(value.reply(), Some(Reply::Nil | Reply::Bulk(_)))).count();
        let ours = values.iter().filter(|value| is_ours(value)).count();
        if ours >= self.majority() {
            let ttls = values.iter().zip(&ttls).filter(|(value, _)| is_ours(value)).map(|(_, ttl)| left(ttl)).collect();
            return Ok(Ownership::Ours { left: self.left_to_a_majority(ttls) });
        }
        if !self.can_be_no_majority(answered - ours) {
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
    /// Whether a majority said yes, or so many said no that there is none; `None` if too few said anything.
    fn decided(&self, heard: &[Heard]) -> Option<bool> {
        let said = |number| heard.iter().filter(|heard| **heard == Heard::Reply(Reply::Int(number))).count();
        match (said(1), said(0)) {
            (yes, _) if yes >= self.majority() => Some(true),
            (_, no) if self.can_be_no_majority(no) => Some(false),
            _ => None,
        }
    }

    /// Whether the servers without these `against` are too few.
    fn can_be_no_majority(&self, against: usize) -> bool {
        usize::from(self.servers.get()) - against < self.majority()
    }

    fn too_few_answers<T>(&self, command: Command, heard: Vec<Heard>) -> Turn<T> {
        Err(Pending::Fault(Fault::TooFewAnswers { command, heard, needed: self.majority() }))
    }

    /// For how long a majority still has it, if these have it for so long each.
    fn left_to_a_majority(&self, mut ttls: Vec<Ttl>) -> Option<Duration> {
        ttls.sort_unstable_by_key(|ttl| core::cmp::Reverse(ttl.left_of_millis().unwrap_or(Duration::MAX)));
        ttls.get(self.majority() - 1)?.left_of_millis()
    }

    /// Deletes the token wherever it is, and asks those too that should not have it.
    fn delete_everywhere(&self, token: &[u8], redis: &mut Transcript) -> Turn<Vec<Heard>> {
        self.ask_all(&RELEASE.eval(&[&self.key], &[token]), redis)
    }

    /// Sends this to all servers at once: what each of them said.
    fn ask_all(&self, command: &Command, redis: &mut Transcript) -> Turn<Vec<Heard>> {
        let commands: Vec<Command> = self.nodes().map(|node| command.clone().on(node)).collect();
        redis.round(&commands)
    }

    fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        (0..self.servers.get()).map(Node)
    }
}

fn vote(heard: Heard) -> Vote {
    match heard {
        Heard::Reply(Reply::Status(text)) if text == "OK" => Vote::Granted,
        Heard::Reply(Reply::Nil) => Vote::Held,
        Heard::Reply(Reply::Error(words)) => Vote::Refused(words),
        Heard::Reply(reply) => Vote::Refused(format!("unexpected reply {reply}")),
        Heard::Silence(Silence::Unreachable) => Vote::Unreachable,
        Heard::Silence(Silence::TooSlow) => Vote::TooSlow,
    }
}

/// What PTTL said; a server that said nothing has no time left for us.
fn left(heard: &Heard) -> Ttl {
    match heard.reply() {
        Some(Reply::Int(left_ms)) => Ttl(*left_ms),
        _ => Ttl(0),
    }
}
