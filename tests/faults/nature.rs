//! What a protocol can promise while nothing around it fails: it is run on the simulated server, two clients and a
//! crash at a time, and what happens there is what it is. No protocol is asked for its name.

use std::sync::Arc;
use std::time::Duration;

use lockshift::lock::{Acquired, Hold, Lease, Locker, Owner, Released, Token};
use lockshift::sim::{Flavour, Server, Session};
use lockshift::wire::{Command, Entry, MonoTime, NodeReply, Pending, Reading, Reply, Transcript, Turn, UnixTime};

/// What a protocol does by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Nature {
    /// Two clients that try at the same time can both win.
    pub(crate) admits_two: bool,
    /// A newcomer can win before the holder's lease has ended.
    pub(crate) ends_early: bool,
    /// A release that arrives late frees the lock of the next holder.
    pub(crate) frees_others: bool,
    /// Who tries in vain can spoil the winner's value, so that the winner's release does not know it again.
    pub(crate) is_spoilt_by_losers: bool,
    /// Its release does not free the lock, even undisturbed.
    pub(crate) never_frees: bool,
    /// A client whose clock is ahead wins a lock that is held.
    pub(crate) trusts_clients_clocks: bool,
    /// A client can take back what an attempt has left that broke off.
    pub(crate) disclaims: bool,
    /// How long after the winner's lease has begun the lock can be had again, whichever step the winner died after;
    /// `None`: it never can.
    pub(crate) frees_after: Option<Duration>,
}

/// The longest that is waited for a lock whose owner has died.
const LONGEST: Duration = Duration::from_secs(12);
const MILLISECOND: Duration = Duration::from_millis(1);
/// More commands than any try needs: some clients go round in circles.
const MOST_COMMANDS: usize = 24;

impl Nature {
    /// What happens between a client of the first lock and clients of the second, which exclude each other: mostly they
    /// are the same.
    pub(crate) fn between(one: &Arc<dyn Locker>, others: &Arc<dyn Locker>) -> Self {
        let play = Play { one, others };
        let frees_after = play.frees_after();
        let lock_ends = frees_after.unwrap_or(LONGEST);
        let (admits_two, is_spoilt_by_losers) = play.contend(lock_ends);
        Self {
            admits_two: admits_two || play.forgets_who_shares(),
            is_spoilt_by_losers,
            ends_early: play.ends_early(),
            frees_others: play.frees_others(lock_ends),
            never_frees: play.never_frees(),
            trusts_clients_clocks: play.trusts_clients_clocks(),
            disclaims: one.disclaim(&owner(ONE), &mut Transcript::new()).is_err(),
            frees_after,
        }
    }
}

/// The commands that a client sends which acquires a free lock and releases it: their names, and of scripts the text.
pub(crate) fn conversation(locker: &Arc<dyn Locker>) -> Vec<Vec<u8>> {
    let play = Play { one: locker, others: locker };
    let mut stage = Stage::new(PHASES[1]);
    let mut commands = Vec::new();
    let mut talk = Talk::of(ONE);
    let Some(hold) = won(talk.finish(&mut stage, &play.acquire(ONE))) else { return commands };
    commands.extend(talk.sent_so_far());
    let mut talk = Talk::of(ONE);
    talk.finish(&mut stage, &|redis: &mut Transcript| locker.release(&hold, redis));
    commands.extend(talk.sent_so_far());
    commands
}

/// Scenes of one protocol.
struct Play<'a> {
    one: &'a Arc<dyn Locker>,
    others: &'a Arc<dyn Locker>,
}

impl Play<'_> {
    fn locker(&self, owner: u32) -> &dyn Locker {
        if owner == ONE || owner == BESIDE { &**self.one } else { &**self.others }
    }

    fn never_frees(&self) -> bool {
        let mut stage = Stage::new(PHASES[1]);
        let Some(hold) = self.win(&mut stage, ONE) else { return true };
        stage.elapse(MILLISECOND);
        self.release(&mut stage, ONE, &hold) != Some(Released::Freed)
    }

    /// Whether one of two who share the lock frees it for both.
    fn forgets_who_shares(&self) -> bool {
        let mut stage = Stage::new(PHASES[1]);
        let (Some(hold), Some(_)) = (self.win(&mut stage, ONE), self.win(&mut stage, BESIDE)) else { return false };
        self.release(&mut stage, ONE, &hold);
        self.win(&mut stage, OTHER).is_some()
    }

    fn trusts_clients_clocks(&self) -> bool {
        let mut stage = Stage::new(PHASES[1]);
        if self.win(&mut stage, ONE).is_none() {
            return false;
        }
        stage.skew = Duration::from_secs(3600);
        self.win(&mut stage, OTHER).is_some()
    }

    fn ends_early(&self) -> bool {
        PHASES.into_iter().any(|phase| {
            let mut stage = Stage::new(phase);
            let Some(hold) = self.win(&mut stage, ONE) else { return false };
            stage.elapse(hold.lease.validity().saturating_sub(MILLISECOND * 2));
            self.win(&mut stage, OTHER).is_some()
        })
    }

    fn frees_after(&self) -> Option<Duration> {
        let crashes = (1..=self.commands_to_win()).map(|commands| {
            let mut stage = Stage::new(PHASES[1]);
            let mut client = Talk::of(ONE);
            (0..commands).for_each(|_| drop(client.step(&mut stage, &self.acquire(ONE))));
            stage.server.disconnect(Session(1));
            stage
        });
        let frees = |crashed: Stage| {
            let lease = self.one.lease().length();
            let moments = (0..).map(|half_seconds| lease + MILLISECOND + Duration::from_millis(500) * half_seconds);
            moments.take_while(|after| *after <= LONGEST).find(|after| {
                let mut stage = crashed.clone();
                stage.elapse(*after);
                // Some take it at their second try.
                self.win(&mut stage, OTHER).is_some() || self.win(&mut stage, OTHER).is_some()
            })
        };
        crashes.map(frees).collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    fn commands_to_win(&self) -> usize {
        let mut stage = Stage::new(PHASES[1]);
        let mut client = Talk::of(ONE);
        let answered = |_: &usize| matches!(client.step(&mut stage, &self.acquire(ONE)), Step::Went);
        (0..MOST_COMMANDS).take_while(answered).count() + 1
    }

    /// A release whose next command was sent in time and arrives when the next client holds.
    fn frees_others(&self, lock_ends: Duration) -> bool {
        (0..MOST_COMMANDS).any(|sent_in_time| {
            let mut stage = Stage::new(PHASES[1]);
            let Some(hold) = self.win(&mut stage, ONE) else { return false };
            let mut client = Talk::of(ONE);
            let release = |redis: &mut Transcript| self.one.release(&hold, redis);
            for _ in 0..sent_in_time {
                if !matches!(client.step(&mut stage, &release), Step::Went) {
                    return false;
                }
            }
            if !client.asks(&stage, &release) {
                return false;
            }
            stage.elapse(lock_ends + MILLISECOND);
            if self.win(&mut stage, OTHER).is_none() {
                return false;
            }
            while matches!(client.step(&mut stage, &release), Step::Went) {}
            self.win(&mut stage, THIRD).is_some()
        })
    }

    /// Whether both of two clients can win, and whether one can spoil what the other has won: on a free key, on an
    /// expired lock, and on one that is freed meanwhile.
    fn contend(&self, lock_ends: Duration) -> (bool, bool) {
        let free = Stage::new(PHASES[1]);
        let mut held = free.clone();
        let first = self.win(&mut held, HOLDER);
        let mut expired = held.clone();
        expired.elapse(lock_ends + MILLISECOND);
        let (mut both, mut spoilt) = (false, false);
        for start in [free, expired] {
            let mut tally = |ended| self.judge(ended, &mut both, &mut spoilt);
            self.interleave(start, [Talk::of(ONE), Talk::of(OTHER)], [None, None], 0, &mut tally);
        }
        if let Some(first) = first {
            self.freed_meanwhile(&held, &first, &mut |ended| self.judge(ended, &mut both, &mut spoilt));
        }
        (both, spoilt)
    }

    fn judge(&self, (mut stage, outcomes): Ended, both: &mut bool, spoilt: &mut bool) {
        let (winner, hold, loser) = match outcomes {
            [Some(_), Some(_)] => return *both = true,
            [Some(hold), None] => (ONE, hold, OTHER),
            [None, Some(hold)] => (OTHER, hold, ONE),
            // What it has left in a key that was free keeps the next ones out.
            [None, None] => return *spoilt |= self.win(&mut stage, THIRD).is_none(),
        };
        // Its next try is that of the same owner.
        *both |= self.win(&mut stage.clone(), loser).is_some();
        *spoilt |= self.release(&mut stage, winner, &hold) != Some(Released::Freed);
    }

    /// All orders in which the commands of two tries can arrive.
    fn interleave(
        &self,
        stage: Stage,
        talks: [Talk; 2],
        ended: [Option<Option<Hold>>; 2],
        depth: usize,
        tally: &mut impl FnMut(Ended),
    ) {
        if let [Some(one), Some(other)] = &ended {
            return tally((stage, [one.clone(), other.clone()]));
        }
        if depth == 12 {
            return;
        }
        for next in 0..2 {
            if ended[next].is_some() {
                continue;
            }
            let (mut stage, mut talks, mut ended) = (stage.clone(), talks.clone(), ended.clone());
            let owner = [ONE, OTHER][next];
            match talks[next].step(&mut stage, &self.acquire(owner)) {
                Step::Went => {}
                Step::Done(outcome) => ended[next] = Some(won(outcome)),
            }
            self.interleave(stage, talks, ended, depth + 1, tally);
        }
    }

    /// The holder's lock is freed after some commands of one try, and another client wins after some more.
    fn freed_meanwhile(&self, held: &Stage, first: &Hold, tally: &mut impl FnMut(Ended)) {
        for freed_after in 0..6 {
            for other_after in freed_after..6 {
                let (mut stage, mut talk, mut outcome) = (held.clone(), Talk::of(ONE), None);
                let (mut other, mut is_freed) = (None, false);
                for command in 0..MOST_COMMANDS {
                    if command == freed_after {
                        self.release(&mut stage, HOLDER, first);
                        is_freed = true;
                    }
                    if command == other_after {
                        other = self.win(&mut stage, OTHER);
                    }
                    if let Step::Done(done) = talk.step(&mut stage, &self.acquire(ONE)) {
                        outcome = won(done);
                        break;
                    }
                }
                // A try that ended before met the holder, and its refusal says nothing.
                if is_freed {
                    tally((stage, [outcome, other]));
                }
            }
        }
    }

    fn acquire(&self, owner: u32) -> impl Fn(&mut Transcript) -> Turn<Acquired> {
        let locker = self.locker(owner);
        let owner = self::owner(owner);
        move |redis| locker.acquire(&owner, redis)
    }

    fn win(&self, stage: &mut Stage, owner: u32) -> Option<Hold> {
        won(Talk::of(owner).finish(stage, &self.acquire(owner)))
    }

    fn release(&self, stage: &mut Stage, owner: u32, hold: &Hold) -> Option<Released> {
        Talk::of(owner).finish(stage, &|redis: &mut Transcript| self.locker(owner).release(hold, redis))
    }
}

/// The owners. The first two speak the first protocol, all others that which it excludes.
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

/// Where the parts of a second begin that some stamps round away.
const PHASES: [Duration; 4] =
    [Duration::ZERO, Duration::from_millis(1), Duration::from_millis(500), Duration::from_millis(999)];

/// How two tries ended, and on what server.
type Ended = (Stage, [Option<Hold>; 2]);

fn won(acquired: Option<Acquired>) -> Option<Hold> {
    match acquired {
        Some(Acquired::Won(hold)) => Some(hold),
        Some(Acquired::Held(_)) | None => None,
    }
}

/// A simulated server, at a moment.
#[derive(Clone)]
struct Stage {
    server: Server,
    begin: UnixTime,
    elapsed: Duration,
    skew: Duration,
}

impl Stage {
    fn new(phase: Duration) -> Self {
        let begin = UnixTime::from_nanos(1_700_000_000_000_000_000).saturating_add(phase);
        Self { server: Server::new(Flavour::Redis70), begin, elapsed: Duration::ZERO, skew: Duration::ZERO }
    }

    fn elapse(&mut self, length: Duration) {
        self.elapsed += length;
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

/// One client's procedure under way.
#[derive(Clone)]
struct Talk {
    session: Session,
    redis: Transcript,
    sent: Option<Vec<Command>>,
}

enum Step<T> {
    /// One command was answered.
    Went,
    /// It has ended; `None`: with a fault.
    Done(Option<T>),
}

impl Talk {
    fn of(owner: u32) -> Self {
        Self { session: Session(owner), redis: Transcript::new(), sent: None }
    }

    /// Sends the next command, which has not arrived yet: whether there is one.
    fn asks<T>(&mut self, stage: &Stage, procedure: &impl Fn(&mut Transcript) -> Turn<T>) -> bool {
        loop {
            match procedure(self.redis.rewind()) {
                Err(Pending::Clock) => self.redis.record_clock(stage.reading()),
                Err(Pending::Send(command)) => self.sent = Some(vec![command]),
                Err(Pending::Round(commands)) => self.sent = Some(commands),
                Ok(_) | Err(Pending::Fault(_)) => return false,
            }
            if self.sent.is_some() {
                return true;
            }
        }
    }

    /// Lets the command arrive that was sent, or sends the next one and lets it arrive.
    fn step<T>(&mut self, stage: &mut Stage, procedure: &impl Fn(&mut Transcript) -> Turn<T>) -> Step<T> {
        if self.sent.is_none() && !self.asks(stage, procedure) {
            return Step::Done(procedure(self.redis.rewind()).ok());
        }
        let commands = self.sent.take().expect("it was just sent");
        let is_round = matches!(procedure(self.redis.rewind()), Err(Pending::Round(_)));
        for command in commands {
            let reply = stage.call(self.session, &command);
            if is_round {
                self.redis.record_node_reply(command.node(), NodeReply::Reply(reply));
            } else {
                self.redis.record_reply(reply);
            }
        }
        match procedure(self.redis.rewind()) {
            Ok(outcome) => Step::Done(Some(outcome)),
            Err(Pending::Fault(_)) => Step::Done(None),
            Err(_) => Step::Went,
        }
    }

    /// The names of the commands that were answered, and of scripts the text.
    fn sent_so_far(&mut self) -> impl Iterator<Item = Vec<u8>> {
        let named = |command: &Command| {
            let script = if command.is("EVAL") || command.is("EVALSHA") { command.args().first() } else { None };
            script.map_or_else(|| command.name().to_vec(), Clone::clone)
        };
        let commands = self.redis.rewind().entries().iter().flat_map(|entry| match entry {
            Entry::Exchange(command, _) => vec![command.clone()],
            Entry::Round(round) => round.iter().map(|(command, _)| command.clone()).collect(),
            Entry::Clock(_) => Vec::new(),
        });
        commands.map(|command| named(&command)).collect::<Vec<_>>().into_iter()
    }

    fn finish<T>(&mut self, stage: &mut Stage, procedure: &impl Fn(&mut Transcript) -> Turn<T>) -> Option<T> {
        for _ in 0..MOST_COMMANDS {
            if let Step::Done(outcome) = self.step(stage, procedure) {
                return outcome;
            }
        }
        None
    }
}

/// The lease of every lock here, where its protocol does not round it up: some dialects count in whole seconds.
pub(crate) fn lease() -> Lease {
    Lease::new(Duration::from_millis(700)).expect("within what a lease can be")
}
