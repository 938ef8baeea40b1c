//! What a protocol promises while nothing around it fails. Its traits are observed on the simulated server, with two
//! clients and a crash at a time; nothing depends on the protocol's name.

use std::sync::Arc;
use std::time::Duration;

use lockshift::lock::{Acquired, Hold, Lease, Locker, Owner, Released, Token};
use lockshift::sim::{Flavour, Server, Session};
use lockshift::wire::{Command, Entry, MonoTime, NodeReply, Pending, Reading, Reply, Transcript, Turn, UnixTime};

/// What a protocol does without faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProtocolTraits {
    /// Two clients that try at the same time can both win.
    pub(crate) admits_two_winners: bool,
    /// A newcomer can win before the holder's lease has ended.
    pub(crate) ends_early: bool,
    /// A release that arrives late frees the lock of the next holder.
    pub(crate) late_release_frees_next: bool,
    /// A client that fails to acquire can overwrite the winner's value, so that the winner's release does not recognise it.
    pub(crate) losers_overwrite_winner: bool,
    /// Its release does not free the lock, even without contention.
    pub(crate) release_frees_nothing: bool,
    /// A client whose clock is ahead wins a lock that is held.
    pub(crate) trusts_clients_clocks: bool,
    /// A client can remove what an interrupted attempt left on the server.
    pub(crate) disclaims: bool,
    /// How long after the beginning of the winner's lease the lock can be acquired again, whichever step the winner crashed
    /// after; `None`: never.
    pub(crate) free_after_crash: Option<Duration>,
}

/// The longest wait for a lock whose owner crashed.
const LONGEST: Duration = Duration::from_secs(12);
const MILLISECOND: Duration = Duration::from_millis(1);
/// More commands than any attempt needs: some clients loop for ever.
const MOST_COMMANDS: usize = 24;

impl ProtocolTraits {
    /// Observes clients of the first lock beside clients of the second, which exclude each other; for most locks both are
    /// the same.
    pub(crate) fn between(one: &Arc<dyn Locker>, others: &Arc<dyn Locker>) -> Self {
        let lockers = TwoLockers { one, others };
        let free_after_crash = lockers.free_after_crash();
        let lock_ends = free_after_crash.unwrap_or(LONGEST);
        let contention = lockers.contend(lock_ends);
        Self {
            admits_two_winners: contention.both_win || lockers.forgets_who_shares(),
            losers_overwrite_winner: contention.loser_overwrites,
            ends_early: contention.lease_ends_early || lockers.ends_early(),
            late_release_frees_next: lockers.late_release_frees_next(lock_ends),
            release_frees_nothing: lockers.release_frees_nothing(),
            trusts_clients_clocks: lockers.trusts_clients_clocks(),
            disclaims: one.disclaim(&owner(ONE), &mut Transcript::new()).is_err(),
            free_after_crash,
        }
    }
}

/// The commands of a client that acquires a free lock and releases it: their names, and the text of scripts.
pub(crate) fn conversation(locker: &Arc<dyn Locker>) -> Vec<Vec<u8>> {
    let lockers = TwoLockers { one: locker, others: locker };
    let mut simulated = SimulatedServer::new(PHASES[1]);
    let mut commands = Vec::new();
    let mut client = SimulatedClient::of(ONE);
    let Some(hold) = won(client.finish(&mut simulated, &lockers.acquire(ONE))) else { return commands };
    commands.extend(client.sent_so_far());
    let mut client = SimulatedClient::of(ONE);
    client.finish(&mut simulated, &|redis: &mut Transcript| locker.release(&hold, redis));
    commands.extend(client.sent_so_far());
    commands
}

/// What happened when two clients tried at once.
#[derive(Default)]
struct Contention {
    both_win: bool,
    loser_overwrites: bool,
    lease_ends_early: bool,
}

/// A lock and the lock that it excludes.
struct TwoLockers<'a> {
    one: &'a Arc<dyn Locker>,
    others: &'a Arc<dyn Locker>,
}

impl TwoLockers<'_> {
    fn locker(&self, owner: u32) -> &dyn Locker {
        if owner == ONE || owner == BESIDE { &**self.one } else { &**self.others }
    }

    fn release_frees_nothing(&self) -> bool {
        let mut simulated = SimulatedServer::new(PHASES[1]);
        let Some(hold) = self.win(&mut simulated, ONE) else { return true };
        simulated.elapse(MILLISECOND);
        self.release(&mut simulated, ONE, &hold) != Some(Released::Freed)
    }

    /// Whether one of two clients that share the lock releases it for both.
    fn forgets_who_shares(&self) -> bool {
        let mut simulated = SimulatedServer::new(PHASES[1]);
        let (Some(hold), Some(_)) = (self.win(&mut simulated, ONE), self.win(&mut simulated, BESIDE)) else {
            return false;
        };
        self.release(&mut simulated, ONE, &hold);
        self.win(&mut simulated, OTHER).is_some()
    }

    fn trusts_clients_clocks(&self) -> bool {
        let mut simulated = SimulatedServer::new(PHASES[1]);
        if self.win(&mut simulated, ONE).is_none() {
            return false;
        }
        simulated.skew = Duration::from_secs(3600);
        self.win(&mut simulated, OTHER).is_some()
    }

    fn ends_early(&self) -> bool {
        PHASES.into_iter().any(|phase| {
            let mut simulated = SimulatedServer::new(phase);
            let Some(hold) = self.win(&mut simulated, ONE) else { return false };
            simulated.elapse(hold.lease.validity().saturating_sub(MILLISECOND * 2));
            self.win(&mut simulated, OTHER).is_some()
        })
    }

    fn free_after_crash(&self) -> Option<Duration> {
        let crashes = (1..=self.commands_to_win()).map(|commands| {
            let mut simulated = SimulatedServer::new(PHASES[1]);
            let mut client = SimulatedClient::of(ONE);
            (0..commands).for_each(|_| drop(client.step(&mut simulated, &self.acquire(ONE))));
            simulated.server.disconnect(Session(1));
            simulated
        });
        let frees = |crashed: SimulatedServer| {
            let lease = self.one.lease().length();
            let moments = (0..).map(|half_seconds| lease + MILLISECOND + Duration::from_millis(500) * half_seconds);
            moments.take_while(|after| *after <= LONGEST).find(|after| {
                let mut simulated = crashed.clone();
                simulated.elapse(*after);
                // Some dialects take it over at their second attempt.
                self.win(&mut simulated, OTHER).is_some() || self.win(&mut simulated, OTHER).is_some()
            })
        };
        crashes.map(frees).collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    fn commands_to_win(&self) -> usize {
        let mut simulated = SimulatedServer::new(PHASES[1]);
        let mut client = SimulatedClient::of(ONE);
        let answered = |_: &usize| matches!(client.step(&mut simulated, &self.acquire(ONE)), Step::Answered);
        (0..MOST_COMMANDS).take_while(answered).count() + 1
    }

    /// Whether a release whose next command was sent in time frees the lock of the next holder when it arrives late.
    fn late_release_frees_next(&self, lock_ends: Duration) -> bool {
        (0..MOST_COMMANDS).any(|sent_in_time| {
            let mut simulated = SimulatedServer::new(PHASES[1]);
            let Some(hold) = self.win(&mut simulated, ONE) else { return false };
            let mut client = SimulatedClient::of(ONE);
            let release = |redis: &mut Transcript| self.one.release(&hold, redis);
            for _ in 0..sent_in_time {
                if !matches!(client.step(&mut simulated, &release), Step::Answered) {
                    return false;
                }
            }
            if !client.send_next(&simulated, &release) {
                return false;
            }
            simulated.elapse(lock_ends + MILLISECOND);
            if self.win(&mut simulated, OTHER).is_none() {
                return false;
            }
            while matches!(client.step(&mut simulated, &release), Step::Answered) {}
            self.win(&mut simulated, THIRD).is_some()
        })
    }

    /// What can happen when two clients try at once: on a free key, on an expired lock, and on a lock that is released
    /// meanwhile. Their clock readings may lie in different seconds, so that one client writes an older stamp than the other.
    fn contend(&self, lock_ends: Duration) -> Contention {
        let mut seen = Contention::default();
        for (phase, step_takes) in [(PHASES[1], Duration::ZERO), (PHASES[3], MILLISECOND)] {
            let free = SimulatedServer::new(phase);
            let mut expired = free.clone();
            self.win(&mut expired, HOLDER);
            expired.elapse(lock_ends + MILLISECOND);
            expired.elapse_whole_seconds();
            for start in [free, expired] {
                let clients = [SimulatedClient::of(ONE), SimulatedClient::of(OTHER)];
                self.interleave(start, clients, step_takes, [None, None], 0, &mut |ended| self.judge(ended, &mut seen));
            }
        }
        for (phase, released_after) in [(PHASES[1], Duration::ZERO), (PHASES[4], Duration::from_millis(400))] {
            let mut held = SimulatedServer::new(phase);
            if let Some(first) = self.win(&mut held, HOLDER) {
                self.freed_meanwhile(&held, &first, released_after, &mut |ended| self.judge(ended, &mut seen));
            }
        }
        seen
    }

    fn judge(&self, (mut simulated, outcomes): Ended, seen: &mut Contention) {
        let (winner, hold, loser) = match outcomes {
            [Some(_), Some(_)] => return seen.both_win = true,
            [Some(hold), None] => (ONE, hold, OTHER),
            [None, Some(hold)] => (OTHER, hold, ONE),
            // What they left in a free key may keep the next clients out.
            [None, None] => return seen.loser_overwrites |= self.win(&mut simulated, THIRD).is_none(),
        };
        // The next attempt is by the same owner.
        seen.both_win |= self.win(&mut simulated.clone(), loser).is_some();
        let mut at_end = simulated.clone();
        let ends = hold.valid_until().saturating_since(MonoTime::since_origin(Duration::ZERO));
        at_end.elapse_until(ends.saturating_sub(MILLISECOND * 2));
        seen.lease_ends_early |= self.win(&mut at_end, THIRD).is_some();
        seen.loser_overwrites |= self.release(&mut simulated, winner, &hold) != Some(Released::Freed);
    }

    /// All orders in which the commands of two attempts can arrive.
    fn interleave(
        &self,
        simulated: SimulatedServer,
        clients: [SimulatedClient; 2],
        step_takes: Duration,
        ended: [Option<Option<Hold>>; 2],
        depth: usize,
        on_end: &mut impl FnMut(Ended),
    ) {
        if let [Some(one), Some(other)] = &ended {
            return on_end((simulated, [one.clone(), other.clone()]));
        }
        if depth == 12 {
            return;
        }
        for next in 0..2 {
            if ended[next].is_some() {
                continue;
            }
            let (mut simulated, mut clients, mut ended) = (simulated.clone(), clients.clone(), ended.clone());
            let owner = [ONE, OTHER][next];
            match clients[next].step(&mut simulated, &self.acquire(owner)) {
                Step::Answered => {}
                Step::Done(outcome) => ended[next] = Some(won(outcome)),
            }
            simulated.elapse(step_takes);
            self.interleave(simulated, clients, step_takes, ended, depth + 1, on_end);
        }
    }

    /// The holder releases after some commands of one attempt and this delay, and another client wins after some more.
    fn freed_meanwhile(
        &self,
        held: &SimulatedServer,
        first: &Hold,
        released_after: Duration,
        on_end: &mut impl FnMut(Ended),
    ) {
        for freed_after in 0..6 {
            for other_after in freed_after..6 {
                let (mut simulated, mut client, mut outcome) = (held.clone(), SimulatedClient::of(ONE), None);
                let (mut other, mut is_freed) = (None, false);
                for command in 0..MOST_COMMANDS {
                    if command == freed_after {
                        simulated.elapse(released_after);
                        self.release(&mut simulated, HOLDER, first);
                        is_freed = true;
                    }
                    if command == other_after {
                        other = self.win(&mut simulated, OTHER);
                    }
                    if let Step::Done(done) = client.step(&mut simulated, &self.acquire(ONE)) {
                        outcome = won(done);
                        break;
                    }
                }
                // An attempt that ended earlier met the holder and was refused rightly.
                if is_freed {
                    on_end((simulated, [outcome, other]));
                }
            }
        }
    }

    fn acquire(&self, owner: u32) -> impl Fn(&mut Transcript) -> Turn<Acquired> {
        let locker = self.locker(owner);
        let owner = self::owner(owner);
        move |redis| locker.acquire(&owner, redis)
    }

    fn win(&self, simulated: &mut SimulatedServer, owner: u32) -> Option<Hold> {
        won(SimulatedClient::of(owner).finish(simulated, &self.acquire(owner)))
    }

    fn release(&self, simulated: &mut SimulatedServer, owner: u32, hold: &Hold) -> Option<Released> {
        SimulatedClient::of(owner).finish(simulated, &|redis: &mut Transcript| self.locker(owner).release(hold, redis))
    }
}

/// The owners. The first two use the first lock, all others the lock that it excludes.
const ONE: u32 = 1;
const BESIDE: u32 = 5;
const OTHER: u32 = 2;
const THIRD: u32 = 3;
const HOLDER: u32 = 9;

/// Threads of one program.
fn owner(number: u32) -> Owner {
    Owner {
        token: Token::new([number as u8; 16]),
        instance: Token::new([0; 16]),
        pid: 1,
        thread: number.into(),
        entries: 0,
    }
}

/// Fractions of a second at which a run begins: some stamps round them away.
const PHASES: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(1),
    Duration::from_millis(500),
    Duration::from_millis(999),
    Duration::from_millis(700),
];

/// How two attempts ended, and the server after them.
type Ended = (SimulatedServer, [Option<Hold>; 2]);

fn won(acquired: Option<Acquired>) -> Option<Hold> {
    match acquired {
        Some(Acquired::Won(hold)) => Some(hold),
        Some(Acquired::Held(_)) | None => None,
    }
}

/// A simulated server at a moment.
#[derive(Clone)]
struct SimulatedServer {
    server: Server,
    begin: UnixTime,
    elapsed: Duration,
    skew: Duration,
}

impl SimulatedServer {
    fn new(phase: Duration) -> Self {
        let begin = UnixTime::from_nanos(1_700_000_000_000_000_000).saturating_add(phase);
        Self { server: Server::new(Flavour::Redis70), begin, elapsed: Duration::ZERO, skew: Duration::ZERO }
    }

    fn elapse(&mut self, length: Duration) {
        self.elapsed += length;
    }

    fn elapse_until(&mut self, moment: Duration) {
        self.elapsed = self.elapsed.max(moment);
    }

    /// Lets time pass until the fraction of the second is that of the beginning.
    fn elapse_whole_seconds(&mut self) {
        self.elapsed = Duration::from_secs(self.elapsed.as_millis().div_ceil(1000) as u64);
    }

    fn call(&mut self, session: Session, command: &Command) -> Reply {
        let now = self.begin.saturating_add(self.elapsed);
        self.server.call(session, command, now)
    }

    fn reading(&self) -> Reading {
        let wall = self.begin.saturating_add(self.elapsed + self.skew);
        Reading { wall, mono: MonoTime::since_origin(self.elapsed) }
    }
}

/// A client whose procedure is under way.
#[derive(Clone)]
struct SimulatedClient {
    session: Session,
    redis: Transcript,
    sent: Option<Vec<Command>>,
}

enum Step<T> {
    /// One command was answered.
    Answered,
    /// The procedure has ended; `None`: with an error.
    Done(Option<T>),
}

impl SimulatedClient {
    fn of(owner: u32) -> Self {
        Self { session: Session(owner), redis: Transcript::new(), sent: None }
    }

    /// Sends the next command, which has not arrived yet. Returns whether there is one.
    fn send_next<T>(&mut self, simulated: &SimulatedServer, procedure: &impl Fn(&mut Transcript) -> Turn<T>) -> bool {
        loop {
            match procedure(self.redis.rewind()) {
                Err(Pending::Clock) => self.redis.record_clock(simulated.reading()),
                Err(Pending::Send(command)) => self.sent = Some(vec![command]),
                Err(Pending::Round(commands)) => self.sent = Some(commands),
                Ok(_) | Err(Pending::Fault(_)) => return false,
            }
            if self.sent.is_some() {
                return true;
            }
        }
    }

    /// Delivers the command that was sent, or sends the next one and delivers it.
    fn step<T>(&mut self, simulated: &mut SimulatedServer, procedure: &impl Fn(&mut Transcript) -> Turn<T>) -> Step<T> {
        if self.sent.is_none() && !self.send_next(simulated, procedure) {
            return Step::Done(procedure(self.redis.rewind()).ok());
        }
        let commands = self.sent.take().expect("it was just sent");
        let is_round = matches!(procedure(self.redis.rewind()), Err(Pending::Round(_)));
        for command in commands {
            let reply = simulated.call(self.session, &command);
            if is_round {
                self.redis.record_node_reply(command.node(), NodeReply::Reply(reply));
            } else {
                self.redis.record_reply(reply);
            }
        }
        match procedure(self.redis.rewind()) {
            Ok(outcome) => Step::Done(Some(outcome)),
            Err(Pending::Fault(_)) => Step::Done(None),
            Err(_) => Step::Answered,
        }
    }

    /// The names of the commands that were answered, and the text of scripts.
    fn sent_so_far(&mut self) -> impl Iterator<Item = Vec<u8>> {
        let named = |command: &Command| {
            let script = if command.is("EVAL") || command.is("EVALSHA") { command.args().first() } else { None };
            script.map_or_else(|| command.name().to_vec(), |script| script.to_vec())
        };
        let commands = self.redis.rewind().entries().iter().flat_map(|entry| match entry {
            Entry::Exchange(command, _) => vec![command.clone()],
            Entry::Round(round) => round.iter().map(|(command, _)| command.clone()).collect(),
            Entry::Clock(_) => Vec::new(),
        });
        commands.map(|command| named(&command)).collect::<Vec<_>>().into_iter()
    }

    fn finish<T>(
        &mut self,
        simulated: &mut SimulatedServer,
        procedure: &impl Fn(&mut Transcript) -> Turn<T>,
    ) -> Option<T> {
        for _ in 0..MOST_COMMANDS {
            if let Step::Done(outcome) = self.step(simulated, procedure) {
                return outcome;
            }
        }
        None
    }
}

/// The lease of every tested lock. Dialects that count in whole seconds round it up.
pub(crate) fn lease() -> Lease {
    Lease::new(Duration::from_millis(700)).expect("within what a lease can be")
}
