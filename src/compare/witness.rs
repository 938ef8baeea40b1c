//! The witness: counts in Redis which clients are inside, on connections and a key that the locks do not use.
//!
//! # Why it never overcounts
//!
//! **Double holds.** A holder enters after it has learned that it won, and leaves before it starts to release. So it is
//! inside only while it believes that it holds the lock. If the count is above one, two clients believed so at the same
//! time. Two holds that overlap only while the replies travel are not counted.
//!
//! **Wrong releases.** When a holder enters, it stores the moment at which its winning attempt *began*; the witness keeps
//! the latest. A holder that leaves reads it. If it is later than the moment at which this holder entered, another client
//! has started an attempt since, won it and entered: that client has taken the lock over, and the key no longer belongs to
//! this holder. If Redis then replies to the release that it deleted a key, it deleted another client's lock. The order in
//! which holders enter would not be enough: a client that won long ago can be late to enter, and would make the correct
//! release of its successor look wrong. A client that enters between the reading and the release is missed, so the count
//! can be too low and is never too high.
//!
//! All moments are readings of one monotonic clock, because all clients of a run live in one process.

use std::time::Duration;

use redis::ConnectionLike;

use crate::driver::{Error, blocking};
use crate::wire::{Command, Key, MonoTime, Reply, Script, Transcript, Turn, script_file};

const ENTER: Script = script_file!("lua/enter.lua");
const LEAVE: Script = script_file!("lua/leave.lua");

/// One client's view of the witness.
pub(super) struct Witness<C> {
    connection: C,
    key: Key,
    origin: MonoTime,
}

impl<C: ConnectionLike> Witness<C> {
    /// How long the key of the witness outlives a run that crashes.
    const MEMORY: Duration = Duration::from_secs(3600);

    /// The witness of the run that began at `origin`.
    pub(super) fn new(connection: C, key: Key, origin: MonoTime) -> Self {
        Self { connection, key, origin }
    }

    /// Enters a holder whose winning attempt began at `since`; returns whether another client is inside.
    pub(super) fn enter(&mut self, since: MonoTime) -> Result<bool, Error> {
        let began = self.micros(since).to_string();
        let memory = Self::MEMORY.as_millis().to_string();
        let inside = self.ask(|redis, key| int(redis, &ENTER, key, &[began.as_bytes(), memory.as_bytes()]))?;
        Ok(inside > 1)
    }

    /// Removes a holder that had entered by `entered`; returns whether another client has taken the lock since.
    pub(super) fn leave(&mut self, entered: MonoTime) -> Result<bool, Error> {
        let latest = self.ask(|redis, key| int(redis, &LEAVE, key, &[]))?;
        Ok(latest > self.micros(entered))
    }

    /// Whether another client has taken the lock from the holder that had entered by `entered`.
    pub(super) fn overtaken(&mut self, entered: MonoTime) -> Result<bool, Error> {
        let command = |key: &Key| Command::new("HGET").arg(key).arg("latest");
        let latest = self.ask(|redis, key| match redis.send(command(key))? {
            Reply::Bulk(digits) => Ok(std::str::from_utf8(&digits).ok().and_then(|digits| digits.parse().ok())),
            Reply::Nil => Ok(None),
            other => Transcript::fault(command(key), other),
        })?;
        Ok(latest.is_some_and(|latest: i64| latest > self.micros(entered)))
    }

    /// Deletes the keys of this run's locks, and then its own key.
    pub(super) fn clean_up(mut self, locks: &[Key]) -> Result<(), Error> {
        for lock in locks {
            self.ask(|redis, _| redis.del(lock))?;
        }
        self.ask(|redis, witness| redis.del(witness)).map(drop)
    }

    fn ask<T>(&mut self, question: impl Fn(&mut Transcript, &Key) -> Turn<T>) -> Result<T, Error> {
        let key = &self.key;
        let answer = blocking::run(&mut self.connection, &|redis: &mut Transcript| question(redis, key));
        answer.map_err(|interrupted| Error::because(key, interrupted.cause))
    }

    /// Microseconds since the origin, rounded down: two moments within one microsecond count as simultaneous.
    fn micros(&self, moment: MonoTime) -> i64 {
        i64::try_from(moment.saturating_since(self.origin).as_micros()).unwrap_or(i64::MAX)
    }
}

fn int(redis: &mut Transcript, script: &Script, key: &Key, args: &[&[u8]]) -> Turn<i64> {
    match redis.script(script, &[key], args)? {
        Reply::Int(number) => Ok(number),
        other => Transcript::fault(script.evalsha(&[key], args), other),
    }
}
