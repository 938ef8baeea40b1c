//! A bid: the value with which a client asks for the lock, and the clocks it was made by.

use alloc::vec::Vec;
use core::time::Duration;

use lockshift_lock::{Acquired, Hold, Lease, Owner};
use lockshift_wire::{Command, MonoTime, Reading, Reply, Transcript, Turn, UnixTime};

use super::Lock;
use crate::{Clock, Lifetime, Number};

/// The value with which a client asks for the lock, and the clocks it was made by.
#[derive(Clone, Debug)]
pub(super) struct Bid {
    pub(super) value: Vec<u8>,
    pub(super) number: Number,
    pub(super) since: Reading,
    pub(super) lease: Lease,
}

impl Lock {
    /// Reads the clocks that this dialect reads. A dialect that asks the server for the time takes that for the wall
    /// clock, also in its holds.
    pub(super) fn clock(&self, redis: &mut Transcript) -> Turn<Reading> {
        let host = redis.clock()?;
        match self.dialect.clock {
            Clock::Local | Clock::Uptime => Ok(host),
            Clock::Server => Ok(Reading { wall: redis.time()?, ..host }),
        }
    }

    /// The moment, out of a reading, that stamps are made of.
    pub(super) fn now(&self, at: Reading) -> UnixTime {
        match self.dialect.clock {
            Clock::Local | Clock::Server => at.wall,
            Clock::Uptime => since_start(at.mono),
        }
    }

    /// Reads the clock and makes a value of it.
    pub(super) fn bid(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Bid> {
        let form = &self.dialect.form;
        let since = self.clock(redis)?;
        let number = form.stamp.at(self.now(since), self.lease.length());
        Ok(Bid { value: form.write(number, owner), number, since, lease: self.lease })
    }

    /// Sends the command that gives the key its TTL, if there is one.
    pub(super) fn give_ttl(&self, lifetime: Lifetime, bid: &Bid, redis: &mut Transcript) -> Turn<()> {
        let Some(command) = self.ttl_command(lifetime, bid) else { return Ok(()) };
        match redis.send(command.clone())? {
            Reply::Int(_) => Ok(()),
            reply => Transcript::fault(command, reply),
        }
    }

    /// The command that gives the key its TTL.
    pub(super) fn ttl_command(&self, lifetime: Lifetime, bid: &Bid) -> Option<Command> {
        let (name, number) = match lifetime {
            Lifetime::None => return None,
            Lifetime::Expire => ("EXPIRE", self.lease_secs()),
            Lifetime::Pexpire => ("PEXPIRE", self.lease_ms()),
            Lifetime::ExpireAt { later_secs } => ("EXPIREAT", bid.secs().saturating_add(later_secs.into())),
            Lifetime::ExpireByMoment => ("EXPIRE", bid.secs()),
            Lifetime::ExpireByMillis => ("EXPIRE", self.lease_ms()),
        };
        Some(Command::new(name).arg(&self.key).arg_int(number))
    }

    /// The lease in whole seconds, rounded up.
    pub(super) fn lease_secs(&self) -> i64 {
        whole(self.lease.length().as_nanos().div_ceil(1_000_000_000))
    }

    /// The lease in whole milliseconds, rounded up.
    pub(super) fn lease_ms(&self) -> i64 {
        whole(self.lease.length().as_nanos().div_ceil(1_000_000))
    }
}

impl Bid {
    /// The lock is won with this bid.
    pub(super) fn won(self) -> Acquired {
        Acquired::Won(Hold { value: self.value, since: self.since, lease: self.lease, fence: None })
    }

    /// The stamp in whole seconds, rounded down.
    fn secs(&self) -> i64 {
        match self.number {
            Number::Int(secs) => i64::try_from(secs).unwrap_or(i64::MAX),
            Number::Float(secs) => secs as i64,
        }
    }
}

fn since_start(mono: MonoTime) -> UnixTime {
    let uptime = mono.saturating_since(MonoTime::since_origin(Duration::ZERO));
    UnixTime::from_nanos(0).saturating_add(uptime)
}

fn whole(units: u128) -> i64 {
    i64::try_from(units).expect("a lease of at most a hundred years has fewer than 2^42 milliseconds")
}
