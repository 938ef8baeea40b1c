//! The locks in the trace: the shipped protocols on simulated servers, some hundred keys at a time that come and go.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use lockshift::lock::{Acquired, Hold, Lease, Locker, Owner, Token};
use lockshift::protocols::Choice;
use lockshift::sim::{Flavour, Server, Session};
use lockshift::wire::{Command, MonoTime, Pending, Reading, Reply, Transcript, UnixTime};

/// None of them opens transactions, because all clients of a key share one connection here.
const PROTOCOLS: [&str; 8] =
    ["token", "php-getset", "token", "setnx-page", "redis-py-2.8", "jedis-lock", "redis-distributed-lock", "token"];
const KEYS: usize = 400;
/// How often a key is acquired before its clients leave it.
const ROUNDS: u32 = 12;
const LEASE: Duration = Duration::from_secs(4);

/// All clients that work under a lock.
pub(crate) struct Fleet {
    chance: fastrand::Rng,
    keys: Vec<Contended>,
    /// What the script that runs has still to call.
    calls: VecDeque<Command>,
    made: u32,
}

/// A key and its clients.
struct Contended {
    locker: Arc<dyn Locker>,
    server: Server,
    workers: Vec<Worker>,
    rounds: u32,
}

struct Worker {
    address: String,
    owner: Owner,
    doing: Doing,
}

/// What a worker is doing.
enum Doing {
    Asks(Transcript),
    /// It works for so many turns.
    Works(Hold, u32),
    Releases(Hold, Transcript),
}

impl Fleet {
    pub(crate) fn new() -> Self {
        let mut fleet =
            Self { chance: fastrand::Rng::with_seed(11), keys: Vec::new(), calls: VecDeque::new(), made: 0 };
        fleet.keys = (0..KEYS).map(|_| fleet.contended()).collect();
        fleet
    }

    /// Whether the next line is a call of a script.
    pub(crate) fn is_in_script(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The next command: of a client, or of the script that runs.
    pub(crate) fn next(&mut self, at: UnixTime) -> (Option<String>, Command) {
        if let Some(call) = self.calls.pop_front() {
            return (None, call);
        }
        loop {
            let place = self.chance.usize(0..KEYS);
            if self.keys[place].rounds >= ROUNDS && self.keys[place].is_free(at) {
                self.keys[place] = self.contended();
            }
            let contended = &mut self.keys[place];
            let who = self.chance.usize(0..contended.workers.len());
            if let Some((command, reply)) = contended.turn(who, at, &mut self.chance) {
                let runs = command.is("EVAL") || command.is("EVALSHA");
                if runs && reply.error_code() != Some("NOSCRIPT") {
                    let key = &command.args()[2];
                    self.calls.push_back(Command::new("GET").arg(key));
                    self.calls.extend((reply == Reply::Int(1)).then(|| Command::new("DEL").arg(key)));
                }
                return (Some(contended.workers[who].address.clone()), command);
            }
        }
    }

    /// A new key with one to three clients.
    fn contended(&mut self) -> Contended {
        self.made += 1;
        let protocol = PROTOCOLS[self.made as usize % PROTOCOLS.len()];
        let choice: Choice = protocol.parse().expect("it is in the catalogue");
        let lease = Lease::new(LEASE).expect("no lock asks for more");
        let key = format!("lock:{protocol}:{}", self.made);
        let workers = (0..self.chance.u32(1..4)).map(|who| Worker::new(self.made % 250, who, &mut self.chance));
        Contended {
            workers: workers.collect(),
            locker: choice.locker(key.as_str().into(), lease),
            server: Server::new(Flavour::Redis70),
            rounds: 0,
        }
    }
}

impl Contended {
    /// Whether it is free.
    fn is_free(&self, at: UnixTime) -> bool {
        !self.server.holds(self.locker.key(), at)
    }

    /// One step of one client of the key, and the reply; nothing if the step sends nothing.
    fn turn(&mut self, who: usize, at: UnixTime, chance: &mut fastrand::Rng) -> Option<(Command, Reply)> {
        let Self { locker, server, workers, rounds } = self;
        let Worker { owner, doing, .. } = &mut workers[who];
        let clock = Reading { wall: at, mono: MonoTime::since_origin(LEASE) };
        loop {
            let (transcript, turn) = match doing {
                Doing::Works(hold, 0) => {
                    *doing = Doing::Releases(hold.clone(), Transcript::new());
                    continue;
                }
                Doing::Works(_, turns) => {
                    *turns -= 1;
                    return None;
                }
                Doing::Asks(transcript) => {
                    let turn = locker.acquire(owner, transcript.rewind());
                    (transcript, turn.map(Some))
                }
                Doing::Releases(hold, transcript) => {
                    let turn = locker.release(hold, transcript.rewind());
                    (transcript, turn.map(|_| None))
                }
            };
            match turn {
                Err(Pending::Clock) => transcript.record_clock(clock),
                Err(Pending::Send(command)) => {
                    let reply = server.call(Session(1), &command, at);
                    transcript.record_reply(reply.clone());
                    return Some((command, reply));
                }
                Err(Pending::Fault(_) | Pending::Round(_)) | Ok(None) => {
                    owner.token = drawn(chance);
                    *doing = Doing::Asks(Transcript::new());
                }
                Ok(Some(Acquired::Held(_))) => *doing = Doing::Asks(Transcript::new()),
                Ok(Some(Acquired::Won(hold))) => {
                    *rounds += 1;
                    // One in a hundred dies.
                    let dies = chance.u32(0..100) == 0;
                    *doing = if dies { Doing::Asks(Transcript::new()) } else { Doing::Works(hold, chance.u32(0..8)) };
                }
            }
        }
    }
}

impl Worker {
    fn new(host: u32, who: u32, chance: &mut fastrand::Rng) -> Self {
        let owner = Owner::new(drawn(chance), 1000 + who, u64::from(host));
        Self { address: format!("10.2.{who}.{host}:{}", 50_000 + who), owner, doing: Doing::Asks(Transcript::new()) }
    }
}

fn drawn(chance: &mut fastrand::Rng) -> Token {
    Token::new(chance.u128(..).to_be_bytes())
}
