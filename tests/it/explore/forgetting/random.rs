//! Protocols made at random: trees of commands on two keys, each branching on what was received before.

use std::sync::Arc;
use std::time::Duration;

use lockshift::explore::{Bounds, Client, FaultBudget, Scene, Times};
use lockshift::lock::{
    Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Owner, Ownership, Refusal, Released,
};
use lockshift::wire::{Command, Key, Reading, Reply, Transcript, Turn};

use crate::explore::locks::lease;

/// Random numbers that are the same on every machine.
struct Chance(u64);

impl Chance {
    fn of(seed: u64) -> Self {
        let mut chance = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..5 {
            chance.below(2);
        }
        chance
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (usize::try_from(self.0).unwrap_or(usize::MAX) >> 3) % bound
    }

    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// What a command writes.
#[derive(Clone, Debug)]
enum Value {
    Own,
    One,
    Stamp,
    StampAndOwn,
    /// What was received in this step.
    Copy(usize),
}

/// What a step asks for; keys by number.
#[derive(Clone, Debug)]
enum Ask {
    Clock,
    Plain(&'static str, usize),
    Write(&'static str, usize, Value),
    WriteForALease(usize, Value),
    Expire(usize),
}

/// What a step branches on: what was received in a step.
#[derive(Clone, Debug)]
enum Test {
    IsNil(usize),
    IsOne(usize),
    IsOwn(usize),
    IsSame(usize, usize),
    HasExpired(usize),
    IsPositive(usize),
    ASecondHasPassed,
}

/// A program: its result, or a step and what follows.
#[derive(Clone, Debug)]
enum Program {
    Result(bool),
    Step(Ask, Test, Box<[Program; 2]>),
}

impl Value {
    fn random(chance: &mut Chance, steps: usize) -> Self {
        match chance.below(8) {
            4 => Self::One,
            5 => Self::Stamp,
            6 => Self::StampAndOwn,
            7 if steps > 0 => Self::Copy(chance.below(steps)),
            _ => Self::Own,
        }
    }
}

impl Ask {
    fn random(chance: &mut Chance, steps: usize) -> Self {
        let key = usize::from(chance.once_in(5));
        match chance.below(14) {
            0 | 1 => Self::Plain("GET", key),
            2 | 3 => Self::Write("SETNX", key, Value::random(chance, steps)),
            4 => Self::WriteForALease(key, Value::random(chance, steps)),
            5 => Self::Write("SET", key, Value::random(chance, steps)),
            6 | 7 => Self::Write("GETSET", key, Value::random(chance, steps)),
            8 => Self::Plain("DEL", key),
            9 => Self::Plain("PTTL", key),
            10 => Self::Plain("INCR", 1),
            11 => Self::Expire(key),
            12 => Self::Plain("EXISTS", key),
            _ => Self::Clock,
        }
    }
}

impl Test {
    /// Of this step, or one before.
    fn random(chance: &mut Chance, step: usize) -> Self {
        let of = if chance.once_in(3) { chance.below(step + 1) } else { step };
        match chance.below(8) {
            0 => Self::IsNil(of),
            1 | 2 => Self::IsOne(of),
            3 => Self::IsOwn(of),
            4 => Self::IsSame(chance.below(step + 1), of),
            5 => Self::HasExpired(of),
            6 => Self::IsPositive(of),
            _ => Self::ASecondHasPassed,
        }
    }
}

impl Program {
    fn random(chance: &mut Chance, depth: usize, step: usize, result: bool) -> Self {
        if depth == 0 {
            return Self::Result(result);
        }
        let (ask, test) = (Ask::random(chance, step), Test::random(chance, step));
        let (depths, result) = ([chance.below(depth), chance.below(depth)], chance.once_in(2));
        let then = Self::random(chance, depths[0], step + 1, result);
        let otherwise = Self::random(chance, depths[1], step + 1, !result);
        Self::Step(ask, test, Box::new([then, otherwise]))
    }
}

/// A lock of two random programs.
#[derive(Clone, Debug)]
struct RandomLock {
    keys: [Key; 2],
    lease: Lease,
    acquire: Program,
    release: Program,
    expires: bool,
}

/// What a program has received.
struct Run<'a> {
    own: &'a [u8],
    begin: Reading,
    clock: Reading,
    replies: Vec<Option<Reply>>,
}

impl Run<'_> {
    fn text(&self, step: usize) -> Option<&[u8]> {
        match self.replies.get(step)? {
            Some(Reply::Bulk(text)) => Some(text),
            _ => None,
        }
    }

    fn passes(&self, test: &Test) -> bool {
        let reply = |step: usize| self.replies.get(step).and_then(Option::as_ref);
        match *test {
            Test::IsNil(step) => reply(step) == Some(&Reply::Nil),
            Test::IsOne(step) => matches!(reply(step), Some(Reply::Int(1) | Reply::Status(_))),
            Test::IsOwn(step) => self.text(step).is_some_and(|text| text.ends_with(self.own)),
            Test::IsSame(one, other) => self.text(one).is_some() && self.text(one) == self.text(other),
            Test::HasExpired(step) => {
                let text = self.text(step).and_then(|text| std::str::from_utf8(text).ok());
                let secs = text.and_then(|text| text.split(':').next()?.parse::<i64>().ok());
                secs.is_some_and(|secs| secs < self.clock.wall.as_secs())
            }
            Test::IsPositive(step) => matches!(reply(step), Some(Reply::Int(number)) if *number > 0),
            Test::ASecondHasPassed => self.clock.mono.saturating_since(self.begin.mono) >= Duration::from_secs(1),
        }
    }
}

impl RandomLock {
    fn random(chance: &mut Chance) -> Self {
        let depth = 3 + chance.below(3);
        let acquire = Program::random(chance, depth, 0, true);
        let depth = 1 + chance.below(3);
        let release = Program::random(chance, depth, 0, true);
        let lease = lease(if chance.once_in(2) { 1 } else { 2 });
        let expires = !chance.once_in(3);
        Self { keys: [Key::from("k"), Key::from("k2")], lease, acquire, release, expires }
    }

    fn written(&self, value: &Value, run: &Run<'_>) -> Vec<u8> {
        let stamp = run.clock.wall.saturating_add(self.lease.length()).as_secs().to_string().into_bytes();
        match value {
            Value::Own => run.own.to_vec(),
            Value::One => b"1".to_vec(),
            Value::Stamp => stamp,
            Value::StampAndOwn => [&stamp, &b":"[..], run.own].concat(),
            Value::Copy(step) => run.text(*step).unwrap_or(b"x").to_vec(),
        }
    }

    fn command(&self, ask: &Ask, run: &Run<'_>) -> Option<Command> {
        let on = |name: &'static str, key: usize| Command::new(name).arg(&self.keys[key]);
        Some(match ask {
            Ask::Clock => return None,
            Ask::Plain(name, key) => on(name, *key),
            Ask::Write(name, key, value) => on(name, *key).arg(self.written(value, run)),
            Ask::WriteForALease(key, value) => {
                let millis = self.lease.length().as_millis().to_string();
                on("SET", *key).arg(self.written(value, run)).arg("NX").arg("PX").arg(millis)
            }
            Ask::Expire(key) => on("EXPIRE", *key).arg(self.lease.length().as_secs().to_string()),
        })
    }

    fn run(&self, program: &Program, own: &[u8], begin: Reading, redis: &mut Transcript) -> Turn<bool> {
        let mut run = Run { own, begin, clock: begin, replies: Vec::new() };
        let mut program = program;
        loop {
            let (ask, test, branches) = match program {
                Program::Result(result) => return Ok(*result),
                Program::Step(ask, test, branches) => (ask, test, branches),
            };
            match self.command(ask, &run) {
                Some(command) => run.replies.push(Some(redis.send(command)?)),
                None => {
                    run.clock = redis.clock()?;
                    run.replies.push(None);
                }
            }
            program = &branches[usize::from(!run.passes(test))];
        }
    }
}

impl Locker for RandomLock {
    fn key(&self) -> &Key {
        &self.keys[0]
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    fn expires(&self) -> bool {
        self.expires
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let since = redis.clock()?;
        let value = owner.token.hex().into_bytes();
        Ok(if self.run(&self.acquire, &value, since, redis)? {
            Acquired::Won(Hold { value, since, lease: self.lease, fence: None })
        } else {
            Acquired::Held(Held::because(Refusal::Live))
        })
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        Ok(if self.run(&self.release, &hold.value, hold.since, redis)? { Released::Freed } else { Released::Lost })
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::MayFreeAnother
    }

    fn extend(&self, _: &Hold, _: &mut Transcript) -> Turn<Extended> {
        Ok(Extended::Unsupported)
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        Ok(match redis.get(&self.keys[0])? {
            None => Ownership::Free,
            Some(value) if value.ends_with(&hold.value) => Ownership::Ours { left: None },
            Some(_) => Ownership::Theirs,
        })
    }
}

/// Two or three clients of one random lock, or of two.
pub(super) struct RandomScene(pub(super) Scene);

impl RandomScene {
    /// The one of this seed; `None` if its lock asks the server nothing.
    pub(super) fn of(seed: u64) -> Option<Self> {
        let chance = &mut Chance::of(seed);
        let one = RandomLock::random(chance);
        if let Program::Result(_) = one.acquire {
            return None;
        }
        let other = Some(()).filter(|()| chance.once_in(3)).map(|()| RandomLock::random(chance));
        let one: Arc<dyn Locker> = Arc::new(one);
        let other = other.map_or(one.clone(), |other| Arc::new(other) as Arc<dyn Locker>);
        let bounds = Self::bounds(chance);
        let client = Self::client(chance, one.clone());
        let third = Some(client.clone()).filter(|_| chance.once_in(6));
        let clients = [Some(client.clone()), Some(Client { locker: other, ..client }), third];
        Some(Self(clients.into_iter().flatten().fold(Scene::new(bounds), Scene::client)))
    }

    fn bounds(chance: &mut Chance) -> Bounds {
        let mut bounds = Bounds::ticks([1, 2, 3][chance.below(3)]);
        if chance.once_in(3) {
            bounds = bounds.crashes(1);
        }
        if chance.once_in(6) {
            bounds = bounds.lost_replies(1);
        }
        if chance.once_in(8) {
            bounds = bounds.failovers(1);
        }
        if chance.once_in(2) {
            bounds = bounds.afterwards(50);
        }
        if chance.once_in(8) {
            bounds = bounds.faults(FaultBudget { evictions: 1, ..bounds.faults });
        }
        if chance.once_in(8) {
            bounds = bounds.faults(FaultBudget { crashes: 1, client_restarts: 1, ..bounds.faults });
        }
        bounds
    }

    fn client(chance: &mut Chance, locker: Arc<dyn Locker>) -> Client {
        let rounds = Times::Of(if chance.once_in(2) { 1 } else { 2 });
        let tries = if chance.once_in(2) { Times::Forever } else { Times::Of(if chance.once_in(2) { 1 } else { 2 }) };
        let (work, pause) = (u16::from(chance.once_in(3)), u16::from(chance.once_in(4)));
        let heeds_lease = !chance.once_in(4);
        Client { rounds, tries, work, pause, heeds_lease, ..Client::new("random", locker) }
    }
}
