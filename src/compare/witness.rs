//! The witness: who is inside, as Redis itself counts it, on connections and a key that the locks know nothing of.
//!
//! # Why it never counts too much
//!
//! **Double holds.** A holder is counted in after it was told that it has the lock, and out before it begins to give it
//! back. So it is inside only while it believes to hold, and when the count is above one there is a moment at which two
//! clients believed so. Two holds that overlap only while their news travels are not counted.
//!
//! **Wrong releases.** On going in, a holder leaves the moment at which its winning try *began*; the witness keeps the
//! latest of them. A holder that leaves reads it. If it is later than the moment at which this holder had gone in, then
//! somebody else has begun a try after that, won it and gone in: it has taken the lock over, and what is in the key now
//! is not this holder's. A release to which Redis answers that it has deleted something then has deleted what others
//! rely on. The order in which holders go in would not be enough: one that won long ago can be late to go in, and would
//! make the rightful release of its successor look wrong. Whoever goes in between the reading and the release is missed;
//! nothing is made up.
//!
//! All moments are readings of one monotonic clock, because all clients of a run live in one process.

use std::time::Duration;

use redis::ConnectionLike;

use crate::driver::{Error, blocking};
use crate::wire::{Command, Key, MonoTime, Reply, Script, Transcript, Turn};

const ENTER: Script = Script::new(include_str!("lua/enter.lua"));
const LEAVE: Script = Script::new(include_str!("lua/leave.lua"));

/// One client's view of the witness.
pub(super) struct Witness<C> {
    connection: C,
    key: Key,
    origin: MonoTime,
}

impl<C: ConnectionLike> Witness<C> {
    /// How long the witness' key outlives a run that dies.
    const MEMORY: Duration = Duration::from_secs(3600);

    /// The witness of the run that began at `origin`.
    pub(super) fn new(connection: C, key: Key, origin: MonoTime) -> Self {
        Self { connection, key, origin }
    }

    /// A holder goes in whose winning try began at `since`: whether somebody else is inside.
    pub(super) fn enter(&mut self, since: MonoTime) -> Result<bool, Error> {
        let began = self.micros(since).to_string();
        let memory = Self::MEMORY.as_millis().to_string();
        let inside = self.ask(|redis, key| int(redis, &ENTER, key, &[began.as_bytes(), memory.as_bytes()]))?;
        Ok(inside > 1)
    }

    /// A holder goes out that had gone in by `entered`: whether somebody has taken the lock over since.
    pub(super) fn leave(&mut self, entered: MonoTime) -> Result<bool, Error> {
        let latest = self.ask(|redis, key| int(redis, &LEAVE, key, &[]))?;
        Ok(latest > self.micros(entered))
    }

    /// Whether somebody has taken the lock over from the holder that had gone in by `entered`.
    pub(super) fn overtaken(&mut self, entered: MonoTime) -> Result<bool, Error> {
        let command = |key: &Key| Command::new("HGET").arg(key).arg("latest");
        let latest = self.ask(|redis, key| match redis.send(command(key))? {
            Reply::Bulk(digits) => Ok(std::str::from_utf8(&digits).ok().and_then(|digits| digits.parse().ok())),
            Reply::Nil => Ok(None),
            other => Transcript::fault(command(key), other),
        })?;
        Ok(latest.is_some_and(|latest: i64| latest > self.micros(entered)))
    }

    /// Deletes what the locks of this run have left, and then itself.
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

    /// Rounded down, `since` as well as `entered`: two within one microsecond count as simultaneous, not as later.
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
