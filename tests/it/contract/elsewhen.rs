//! A lock whose wall clock is the test's: the same protocol, at a time of our choice.
//!
//! A protocol is a function over a transcript, so it can be run inside another one: its questions for the time are
//! answered here, all else is passed on to whoever drives. A driver cannot tell, and what crosses the wire becomes a
//! literal. The monotonic clock stays the driver's own.

use lockshift::lock::{Acquired, Extended, Hold, Lease, Locker, Owner, Released, Standing};
use lockshift::wire::{Command, Key, Pending, Reading, Reply, Transcript, Turn, UnixTime};

/// `lock`, as it behaves when the wall clocks, of the client and of the server's TIME, say `wall`.
pub(super) struct Elsewhen<'a> {
    pub(super) lock: &'a dyn Locker,
    pub(super) wall: UnixTime,
}

impl Elsewhen<'_> {
    fn run<T>(&self, redis: &mut Transcript, turn: impl Fn(&mut Transcript) -> Turn<T>) -> Turn<T> {
        let mut inner = Transcript::new();
        loop {
            match turn(inner.rewind()) {
                Err(Pending::Clock) => inner.record_clock(Reading { wall: self.wall, ..redis.clock()? }),
                Err(Pending::Send(command)) => inner.record_reply(self.answer(redis, command)?),
                done_or_faulty => return done_or_faulty,
            }
        }
    }

    fn answer(&self, redis: &mut Transcript, command: Command) -> Turn<Reply> {
        let asks_time = command.is("TIME");
        let reply = redis.send(command)?;
        if !asks_time {
            return Ok(reply);
        }
        let micros = self.wall.as_nanos() / 1_000;
        let part = |number: i64| Reply::bulk(number.to_string());
        Ok(Reply::Array(vec![part(micros / 1_000_000), part(micros % 1_000_000)]))
    }
}

impl Locker for Elsewhen<'_> {
    fn key(&self) -> &Key {
        self.lock.key()
    }

    fn lease(&self) -> Lease {
        self.lock.lease()
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        self.run(redis, |inner| self.lock.acquire(owner, inner))
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        self.run(redis, |inner| self.lock.release(hold, inner))
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        self.run(redis, |inner| self.lock.extend(hold, inner))
    }

    fn standing(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Standing> {
        self.run(redis, |inner| self.lock.standing(hold, inner))
    }

    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        self.run(redis, |inner| self.lock.disclaim(owner, inner))
    }

    fn needs_own_connection(&self) -> bool {
        self.lock.needs_own_connection()
    }
}
