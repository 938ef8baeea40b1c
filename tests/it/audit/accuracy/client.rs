//! A client of a fleet: tries, works, overruns at times, dies at times, and notes all that.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lockshift::lock::{Acquired, Hold, Lease, Locker, Owner, Token};
use lockshift::protocols::Choice;
use lockshift::wire::{Command, MonoTime, Pending, Reading, Reply, Transcript, Turn, UnixTime};

use super::topology::{Connections, Link};
use super::truth::{Held, Log, Span};
use crate::patience::{now, pause, wall};

/// For how long a client acquires.
const LEASE: Duration = Duration::from_secs(1);

/// A client of a fleet.
pub(super) struct Worker {
    number: u32,
    locker: Arc<dyn Locker>,
    chance: fastrand::Rng,
    skew_ms: i64,
    log: Arc<Mutex<Log>>,
    connections: Arc<Connections>,
    acquisitions: u32,
}

impl Worker {
    pub(super) fn new(
        number: u32,
        protocol: &str,
        key: &str,
        seed: u64,
        log: Arc<Mutex<Log>>,
        connections: Arc<Connections>,
    ) -> Self {
        let choice: Choice = protocol.parse().expect("the protocol is in the catalogue");
        let locker = choice.locker(key.into(), Lease::new(LEASE).expect("it is not zero"));
        // The clock of every fourth client is fast.
        let skew_ms = if number == 3 { 600 } else { 0 };
        Self { number, locker, chance: fastrand::Rng::with_seed(seed), skew_ms, log, connections, acquisitions: 0 }
    }

    /// Goes on until this moment.
    pub(super) fn run(mut self, until: Instant) {
        let connections = self.connections.clone();
        let mut link = connections.link(self.number);
        while now() < until {
            self.rest(30, 200);
            let owner = self.owner();
            let Some((hold, acquiring)) = self.attempt(&mut link, owner) else { continue };
            let is_skewed = self.skew_ms != 0;
            let lease_ends = acquiring.begin + LEASE;
            let held = Held { acquiring, lease_ends, work_ends: Duration::MAX, releasing: None, has_deleted: false };
            let place = {
                let mut log = self.log.lock().expect("no client has panicked");
                if is_skewed {
                    log.skewed.push(acquiring);
                }
                log.holds.push(held);
                log.holds.len() - 1
            };
            match self.chance.u32(0..100) {
                0..80 => self.rest(2, 30),
                80..95 => self.rest(1_100, 1_900),
                _ => {
                    // It dies. Another one takes its place.
                    link.restart();
                    self.log.lock().expect("no client has panicked").holds[place].work_ends = lease_ends;
                    continue;
                }
            }
            self.release(&mut link, &hold, place);
        }
    }

    fn owner(&mut self) -> Owner {
        self.acquisitions += 1;
        let token = u128::from(self.chance.u64(..)) << 64 | u128::from(self.chance.u64(..));
        Owner::new(Token::new(token.to_be_bytes()), 1_000 + self.number, u64::from(self.acquisitions))
    }

    fn rest(&mut self, from_ms: u64, to_ms: u64) {
        pause(Duration::from_millis(self.chance.u64(from_ms..=to_ms)));
    }

    fn attempt(&self, link: &mut Link<'_>, owner: Owner) -> Option<(Hold, Span)> {
        let mut has_overwritten = false;
        link.begin(false);
        let begin = wall();
        let acquired = self.operation(link, &|redis| self.locker.acquire(&owner, redis), &mut |command, _| {
            has_overwritten |= command.is("GETSET");
        });
        let span = Span { begin, end: wall() };
        link.end();
        match acquired {
            Acquired::Won(hold) => Some((hold, span)),
            Acquired::Held(_) => {
                if has_overwritten {
                    self.log.lock().expect("no client has panicked").lost_takeovers.push(span);
                }
                None
            }
        }
    }

    fn release(&self, link: &mut Link<'_>, hold: &Hold, place: usize) {
        let mut has_deleted = false;
        link.begin(true);
        let begin = wall();
        self.log.lock().expect("no client has panicked").holds[place].work_ends = begin;
        self.operation(link, &|redis| self.locker.release(hold, redis), &mut |command, reply| {
            let deletes = ["DEL", "EVAL", "EVALSHA"].iter().any(|name| command.is(name));
            has_deleted |= deletes && *reply == Reply::Int(1);
        });
        let span = Span { begin, end: wall() };
        link.end();
        let mut log = self.log.lock().expect("no client has panicked");
        let held = &mut log.holds[place];
        (held.releasing, held.has_deleted) = (Some(span), has_deleted);
    }

    fn operation<T>(
        &self,
        link: &mut Link<'_>,
        operation: &dyn Fn(&mut Transcript) -> Turn<T>,
        seen: &mut dyn FnMut(&Command, &Reply),
    ) -> T {
        let mut transcript = Transcript::new();
        loop {
            match operation(transcript.rewind()) {
                Ok(outcome) => return outcome,
                Err(Pending::Clock) => transcript.record_clock(self.reading()),
                Err(Pending::Send(command)) => {
                    let reply = link.send(&command);
                    seen(&command, &reply);
                    transcript.record_reply(reply);
                }
                Err(Pending::Fault(fault)) => panic!("{fault}"),
                Err(Pending::Round(_)) => panic!("there is one server"),
            }
        }
    }

    fn reading(&self) -> Reading {
        let wall_ns = i64::try_from(wall().as_nanos()).expect("it is before 2262") + self.skew_ms * 1_000_000;
        Reading { wall: UnixTime::from_nanos(wall_ns), mono: MonoTime::since_origin(wall()) }
    }
}
