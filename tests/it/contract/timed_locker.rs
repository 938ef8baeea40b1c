//! A lock at a time and for an owner that the test chooses.
//!
//! A protocol is a function over a transcript, so it can be run inside another one: its questions for the time are
//! answered here, all else is passed on to the driver. A driver cannot tell, and what crosses the wire becomes a
//! literal. The driver's own clock only shows in the holds, where it goes by it.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use lockshift::lock::{
    Acquired, Extended, Hold, LateRelease, Lease, Locker, Mode, Owner, Ownership, RefusalScope, ReleaseChannel,
    Released,
};
use lockshift::wire::{Command, Key, MonoTime, Pending, Reading, Reply, Transcript, Turn, UnixTime};

/// When Alice comes, in October 2096: a TTL that is given as a moment must not be over. The digits tell one rounding
/// from another.
const ALICE_COMES: UnixTime = UnixTime::from_nanos(4_000_000_000_891_234_567);

/// How long the machines have been running then.
const UPTIME: Duration = Duration::from_millis(1_000_891);

/// What the clocks say.
#[derive(Clone, Debug)]
pub(super) struct FakeClock(Arc<AtomicI64>);

impl FakeClock {
    /// A clock at the moment when Alice comes.
    pub(super) fn new() -> Self {
        Self(Arc::new(AtomicI64::new(ALICE_COMES.as_nanos())))
    }

    /// It is that long after Alice came.
    pub(super) fn set(&self, after: Duration) {
        self.0.store(ALICE_COMES.saturating_add(after).as_nanos(), Ordering::Relaxed);
    }

    fn wall(&self) -> UnixTime {
        UnixTime::from_nanos(self.0.load(Ordering::Relaxed))
    }

    fn reading(&self) -> Reading {
        reading_at(self.wall())
    }
}

/// Both clocks, when the wall clock says this.
fn reading_at(wall: UnixTime) -> Reading {
    Reading { wall, mono: MonoTime::since_origin(UPTIME + wall.saturating_since(ALICE_COMES)) }
}

/// `lock`, as it behaves when `owner` asks and the clocks say so.
pub(super) struct TimedLocker {
    pub(super) lock: Arc<dyn Locker>,
    pub(super) owner: Owner,
    pub(super) clock: FakeClock,
    /// Whether TIME says the same: for protocols that read the server's clock in place of their own. Those whose
    /// scripts read it can only live in the present.
    pub(super) also_time: bool,
}

impl TimedLocker {
    fn run<T>(&self, redis: &mut Transcript, turn: impl Fn(&mut Transcript) -> Turn<T>) -> Turn<T> {
        let mut inner = Transcript::new();
        loop {
            match turn(inner.rewind()) {
                Err(Pending::Clock) => inner.record_clock(self.clock.reading()),
                Err(Pending::Send(command)) => inner.record_reply(self.answer(redis, command)?),
                Err(Pending::Round(commands)) => {
                    for (command, heard) in commands.iter().zip(redis.round(&commands)?) {
                        inner.record_node_reply(command.node(), heard);
                    }
                }
                done_or_faulty => return done_or_faulty,
            }
        }
    }

    fn answer(&self, redis: &mut Transcript, command: Command) -> Turn<Reply> {
        let asks_time = self.also_time && command.is("TIME");
        let reply = redis.send(command)?;
        if !asks_time {
            return Ok(reply);
        }
        let micros = self.clock.wall().as_nanos() / 1_000;
        let part = |number: i64| Reply::bulk(number.to_string());
        Ok(Reply::Array(vec![part(micros / 1_000_000), part(micros % 1_000_000)]))
    }
}

/// A hold as the driver knows it, from the moment when it began to ask.
fn outside(hold: Hold, began: MonoTime) -> Hold {
    Hold { since: Reading { mono: began, ..hold.since }, ..hold }
}

/// The same hold as the protocol knows it.
fn inside(hold: &Hold) -> Hold {
    Hold { since: reading_at(hold.since.wall), ..hold.clone() }
}

#[deny(clippy::missing_trait_methods, reason = "a default in place of what the protocol says would be a silent lie")]
impl Locker for TimedLocker {
    fn key(&self) -> &Key {
        self.lock.key()
    }

    fn lease(&self) -> Lease {
        self.lock.lease()
    }

    fn expires(&self) -> bool {
        self.lock.expires()
    }

    fn mode(&self) -> Mode {
        self.lock.mode()
    }

    fn max_sharers(&self) -> Option<NonZeroU32> {
        self.lock.max_sharers()
    }

    fn acquire(&self, _: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let began = redis.clock()?.mono;
        let acquired = self.run(redis, |inner| self.lock.acquire(&self.owner, inner))?;
        Ok(match acquired {
            Acquired::Won(hold) => Acquired::Won(outside(hold, began)),
            held @ Acquired::Held(_) => held,
        })
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        self.run(redis, |inner| self.lock.release(&inside(hold), inner))
    }

    fn late_release(&self) -> LateRelease {
        self.lock.late_release()
    }

    fn release_is_repeatable(&self) -> bool {
        self.lock.release_is_repeatable()
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        let began = redis.clock()?.mono;
        let extended = self.run(redis, |inner| self.lock.extend(&inside(hold), inner))?;
        Ok(match extended {
            Extended::Until(hold) => Extended::Until(outside(hold, began)),
            Extended::Intruded(hold) => Extended::Intruded(outside(hold, began)),
            other @ (Extended::Lost | Extended::Unsupported) => other,
        })
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        self.run(redis, |inner| self.lock.ownership(&inside(hold), inner))
    }

    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        let owner = Owner { entries: owner.entries, ..self.owner };
        self.run(redis, |inner| self.lock.disclaim(&owner, inner))
    }

    fn reentrant_name(&self, _: &Owner) -> Option<String> {
        self.lock.reentrant_name(&self.owner)
    }

    fn release_channel(&self, _: &Owner) -> Option<ReleaseChannel> {
        self.lock.release_channel(&self.owner)
    }

    fn refusal_scope(&self) -> RefusalScope {
        self.lock.refusal_scope()
    }

    fn granted(&self, _: &Owner, since: Reading, message: &[u8]) -> Option<Hold> {
        self.lock.granted(&self.owner, since, message)
    }

    fn withdraw(&self, _: &Owner, redis: &mut Transcript) -> Turn<()> {
        self.run(redis, |inner| self.lock.withdraw(&self.owner, inner))
    }

    fn longest_pause(&self) -> Option<Duration> {
        self.lock.longest_pause()
    }

    fn needs_own_connection(&self) -> bool {
        self.lock.needs_own_connection()
    }
}
