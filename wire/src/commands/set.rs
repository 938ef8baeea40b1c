//! SET with all its options.
//!
//! Source: the Redis command reference, `SET key value [NX | XX | IFEQ old] [GET] [EX | PX | EXAT | PXAT | KEEPTTL]`.

use alloc::vec::Vec;
use core::time::Duration;

use crate::ask::{Ask, WordSink};
use crate::{Command, Key, Transcript, Turn, UnixTime};

/// How long the key shall live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Expiry {
    /// `EX`: a number of seconds from now; a fraction is rounded up, so that no lease ends early.
    Ex(Duration),
    /// `PX`: a number of milliseconds from now, rounded up.
    Px(Duration),
    /// `EXAT`: until this second of the server's wall clock, rounded up. Redis 6.2.
    ExAt(UnixTime),
    /// `PXAT`: until this millisecond of the server's wall clock, rounded up. Redis 6.2.
    PxAt(UnixTime),
    /// `KEEPTTL`: as long as it would have without this SET. Redis 6.0.
    KeepTtl,
}

/// Under which condition the key is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Only<'a> {
    /// `NX`: only if the key does not exist.
    IfMissing,
    /// `XX`: only if the key exists.
    IfExists,
    /// `IFEQ old`: only if the key holds exactly these bytes. Valkey 8.1, Redis 8.4.
    IfEquals(&'a [u8]),
}

/// One SET, being put together.
#[derive(Clone, Copy, Debug)]
pub struct Set<'a> {
    key: &'a Key,
    value: &'a [u8],
    only: Option<Only<'a>>,
    expiry: Option<Expiry>,
    expiry_first: bool,
}

impl<'a> Set<'a> {
    /// `SET key value`: always written, no TTL.
    pub fn new(key: &'a Key, value: &'a [u8]) -> Self {
        Self { key, value, only: None, expiry: None, expiry_first: false }
    }

    /// Written under this condition only.
    #[must_use]
    pub fn only(mut self, only: Only<'a>) -> Self {
        self.only = Some(only);
        self
    }

    /// With this expiry.
    #[must_use]
    pub fn expiry(mut self, expiry: Expiry) -> Self {
        self.expiry = Some(expiry);
        self
    }

    /// With the expiry written before the condition, as redis-rb, go-redis and `SET k v EX 10 NX` in prose have it. To
    /// Redis it is the same; to a program that compares bytes it is not.
    #[must_use]
    pub fn expiry_first(mut self) -> Self {
        self.expiry_first = true;
        self
    }

    /// The command. The order of the options is that of Jedis: condition, then expiry.
    pub fn command(&self) -> Command {
        Ask::command(self)
    }

    fn write_condition<L: WordSink>(&self, sink: L) -> L {
        match self.only {
            None => sink,
            Some(Only::IfMissing) => sink.arg("NX"),
            Some(Only::IfExists) => sink.arg("XX"),
            Some(Only::IfEquals(old)) => sink.arg("IFEQ").arg(old),
        }
    }

    fn write_expiry<L: WordSink>(&self, sink: L) -> L {
        match self.expiry {
            None => sink,
            Some(Expiry::Ex(lease)) => sink.arg("EX").arg_int(whole(lease.as_secs().into(), lease.subsec_nanos())),
            Some(Expiry::Px(lease)) => {
                sink.arg("PX").arg_int(whole(lease.as_millis(), lease.subsec_nanos() % 1_000_000))
            }
            Some(Expiry::ExAt(until)) => sink.arg("EXAT").arg_int(ceil_to(after_1970(until), 1_000_000_000)),
            Some(Expiry::PxAt(until)) => sink.arg("PXAT").arg_int(ceil_to(after_1970(until), 1_000_000)),
            Some(Expiry::KeepTtl) => sink.arg("KEEPTTL"),
        }
    }
}

impl Ask for Set<'_> {
    fn write_words<L: WordSink>(&self, sink: L) -> L {
        let sink = sink.arg("SET").arg(self.key).arg(self.value);
        if self.expiry_first {
            self.write_condition(self.write_expiry(sink))
        } else {
            self.write_expiry(self.write_condition(sink))
        }
    }
}

impl Transcript {
    /// Sends a SET: whether it was written.
    ///
    /// # Errors
    /// [`Pending`](crate::Pending): the reply is still to come, or Redis refused.
    pub fn set(&mut self, set: &Set<'_>) -> Turn<bool> {
        self.ask_ok(set)
    }

    /// Sends a SET with `GET` (Redis 6.2; with NX, Redis 7.0): the value before, written or not.
    ///
    /// # Errors
    /// [`Pending`](crate::Pending): the reply is still to come, or Redis refused, as it does where the old value is no
    /// string.
    pub fn set_get(&mut self, set: &Set<'_>) -> Turn<Option<Vec<u8>>> {
        self.ask_bulk(set.command().arg("GET"))
    }
}

/// So many units and a `rest` of one, rounded up. A lease is divided once for each run of a protocol, and 128 bits take long.
fn whole(units: u128, rest: u32) -> i64 {
    i64::try_from(units).map_or(i64::MAX, |units| units.saturating_add(i64::from(rest > 0)))
}

fn after_1970(moment: UnixTime) -> u128 {
    u128::try_from(moment.as_nanos()).unwrap_or(0)
}

fn ceil_to(nanos: u128, unit: u128) -> i64 {
    i64::try_from(nanos.div_ceil(unit)).unwrap_or(i64::MAX)
}
