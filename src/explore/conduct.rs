//! How a client carries out its program: which operation it begins, what it does with each answer.

mod after;

use super::actor::{Actor, Doing, Talk, Work};
use super::client::Times;
use super::parts::{Look, Next, Servers, Stage, Told, Verdict};
use super::scene::Scene;
use crate::lock::{Acquired, Extended, Hold, Refusal, Released};
use crate::wire::{Command, Entry, Fault, Heard, Node, Pending, Reply, Silence, Transcript};

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Acquired(Acquired),
    Extended(Extended),
    Released(Released),
    Disclaimed,
    Failed(Fault),
}

impl Ended {
    /// How it ended, in a few words, without times and figures.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Acquired(Acquired::Won(_)) => "holds",
            Self::Acquired(Acquired::Held(held)) => match held.reason {
                Refusal::Live => "is refused: the lock is held",
                Refusal::LostTakeover => "loses the takeover",
                Refusal::Vanished => "is refused: the key has vanished",
                Refusal::Unreadable => "is refused: the value is unreadable",
                Refusal::NoMajority => "is refused",
            },
            Self::Extended(Extended::Until(_)) => "extends",
            Self::Extended(Extended::Intruded(_)) => "learns of an intrusion, and stops",
            Self::Extended(Extended::Lost) => "learns that the lock is lost",
            Self::Extended(Extended::Unsupported) => "cannot extend",
            Self::Released(Released::Freed) => "has freed the lock",
            Self::Released(Released::Lost) => "had lost the lock",
            Self::Released(Released::Intruded) => "has freed what was its own, and learns of an intrusion",
            Self::Released(Released::LeftAlone) => "leaves the key alone",
            Self::Released(Released::StillHeld) => "gives its own back, and the lock is still held",
            Self::Disclaimed => "has made sure that nothing stays behind",
            Self::Failed(_) => "fails",
        }
    }
}

impl Scene {
    /// What a client is about to do and what it believes.
    pub(super) fn look(&self, who: usize, actor: &Actor) -> Look<Command> {
        let verdict = self.verdict(who, actor);
        let has_until = self.has(who, actor).map_or(0, |hold| self.end_of(hold.since.mono, hold.lease));
        Look {
            next: self.next(who, actor),
            at: self.possible_at(who, actor),
            believes_until: match actor.hold() {
                None => 0,
                Some(_) if !self.clients[who].heeds_lease => u16::MAX,
                Some(hold) => self.end_of(hold.since.mono, hold.lease),
            },
            has_until,
            stage: stage(actor),
            wants_for_ever: matches!(stage(actor), Stage::Resting | Stage::Trying)
                && actor.tries_left == Times::Forever,
            verdict,
        }
    }

    /// The client after it was told something.
    pub(super) fn tell(&self, who: usize, actor: &Actor, told: Told<Reply>) -> Actor {
        self.tell_to_the_end(who, actor, told).0
    }

    /// The client after it was told something, and how its operation ended, if that ended it.
    pub(super) fn tell_to_the_end(&self, who: usize, actor: &Actor, told: Told<Reply>) -> (Actor, Option<Ended>) {
        match told {
            Told::Clock(tick) => {
                let mut actor = self.begun(who, actor);
                if let Some(talk) = talk_mut(&mut actor) {
                    talk.said.record_clock(self.reading(who, tick));
                }
                self.settled(who, actor, tick)
            }
            Told::Reply(reply) => {
                let mut actor = self.begun(who, actor);
                self.record(who, &mut actor, reply);
                (actor, None)
            }
            Told::ReplyOn(node, reply) => (self.hearing(who, actor, Node(node), Heard::Reply(reply)), None),
            Told::SilenceOn(node) => (self.hearing(who, actor, Node(node), Heard::Silence(Silence::TooSlow)), None),
            Told::Proceed(tick) => {
                let mut actor = self.begun(who, actor);
                if let Some(talk) = talk_mut(&mut actor) {
                    talk.in_flight = false;
                }
                self.settled(who, actor, tick)
            }
            Told::ReplyLost(tick) => (self.without_reply(who, actor, tick), None),
            Told::Written => (with_work(actor.clone(), |work| work.wrote = true), None),
            Told::RenewalEnded => (with_work(actor.clone(), |work| work.renews = false), None),
            Told::Crash => {
                let nothing = Times::Of(0);
                (Actor { rounds_left: nothing, tries_left: nothing, ..actor.now(Doing::Crashed) }, None)
            }
        }
    }

    /// What a client has on the server: held, or won with the reply on its way.
    pub(super) fn has(&self, who: usize, actor: &Actor) -> Option<Hold> {
        match (actor.hold(), self.ended_in_flight(who, actor)) {
            (_, Some(Ended::Acquired(Acquired::Won(hold)) | Ended::Extended(Extended::Until(hold)))) => Some(hold),
            (held, _) => held.cloned(),
        }
    }

    /// How the operation under way ends, if its last reply is on its way.
    pub(super) fn ended_in_flight(&self, who: usize, actor: &Actor) -> Option<Ended> {
        if actor.awaits_reply() { self.run(who, actor).ok() } else { None }
    }

    fn verdict(&self, who: usize, actor: &Actor) -> Verdict {
        match self.ended_in_flight(who, actor) {
            None | Some(Ended::Disclaimed | Ended::Failed(_)) => Verdict::Open,
            Some(Ended::Acquired(Acquired::Won(_)) | Ended::Extended(Extended::Until(_))) => Verdict::Ours,
            Some(Ended::Released(Released::Freed)) if has_acted_before(actor) => Verdict::FreedBefore,
            Some(Ended::Released(Released::Freed)) => Verdict::Freed,
            Some(Ended::Released(Released::Lost)) => Verdict::Lost,
            Some(Ended::Acquired(_) | Ended::Extended(_)) => Verdict::NotOurs,
            Some(Ended::Released(Released::LeftAlone | Released::StillHeld | Released::Intruded)) => Verdict::NotOurs,
        }
    }

    fn next(&self, who: usize, actor: &Actor) -> Next<Command> {
        if actor.awaits_reply() {
            return Next::Receive;
        }
        let actor = self.begun(who, actor);
        match (&actor.doing, actor.talk()) {
            (Doing::Done | Doing::Crashed, _) => Next::Nothing,
            (_, None) => Next::Write,
            (_, Some(_)) => match self.run(who, &actor) {
                Ok(_) => Next::Conclude,
                Err(Pending::Clock) => Next::ReadClock,
                Err(Pending::Send(command)) => Next::Send(command),
                Err(Pending::Round(commands)) => Next::Round(Servers::of(&commands)),
                Err(Pending::Fault(_)) => unreachable!("a fault ends an operation"),
            },
        }
    }

    /// The command for this server in the round that is under way.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn command_on(&self, who: usize, actor: &Actor, server: u8) -> Command {
        let Err(Pending::Round(open)) = self.run(who, &self.begun(who, actor)) else {
            panic!("client {who} asks several servers")
        };
        open.into_iter().find(|command| command.node() == Node(server)).expect("this server is to hear of it")
    }

    /// The first tick at which the next step can be taken.
    fn possible_at(&self, who: usize, actor: &Actor) -> u16 {
        match &actor.doing {
            Doing::Resting { until } => *until,
            Doing::Holding(hold, work) => self.renewal_due(who, hold, *work).unwrap_or(work.until),
            Doing::Acquiring(_) | Doing::Extending(..) | Doing::Releasing(..) | Doing::Disclaiming(_) => 0,
            Doing::Done | Doing::Crashed => u16::MAX,
        }
    }

    /// When it extends next, if before its work is done.
    fn renewal_due(&self, who: usize, hold: &Hold, work: Work) -> Option<u16> {
        let renew_after = self.clients[who].renew_after.filter(|_| work.renews)?;
        let origin = crate::wire::MonoTime::since_origin(std::time::Duration::ZERO);
        let due = self.ticks_of(hold.since.mono.saturating_since(origin)).saturating_add(renew_after);
        Some(due).filter(|due| *due < work.until)
    }

    /// The client with its next operation begun, nothing said yet.
    fn begun(&self, who: usize, actor: &Actor) -> Actor {
        match &actor.doing {
            Doing::Resting { .. } => actor.now(Doing::Acquiring(Talk::default())),
            Doing::Holding(hold, work) if self.renewal_due(who, hold, *work).is_some() => {
                actor.now(Doing::Extending(hold.clone(), *work, Talk::default()))
            }
            Doing::Holding(_, work) if self.clients[who].writes && !work.wrote => actor.clone(),
            Doing::Holding(hold, _) => actor.now(Doing::Releasing(hold.clone(), Talk::default())),
            Doing::Acquiring(_)
            | Doing::Extending(..)
            | Doing::Releasing(..)
            | Doing::Disclaiming(_)
            | Doing::Done
            | Doing::Crashed => actor.clone(),
        }
    }

    /// Runs the operation under way over what was said; a fault is an end.
    fn run(&self, who: usize, actor: &Actor) -> Result<Ended, Pending> {
        let mut said = actor.talk().map(|talk| talk.said.clone()).unwrap_or_default();
        let ended = self.run_over(who, actor, &mut said);
        if let Err(Pending::Fault(fault)) = ended { Ok(Ended::Failed(fault)) } else { ended }
    }

    pub(super) fn run_over(&self, who: usize, actor: &Actor, said: &mut Transcript) -> Result<Ended, Pending> {
        let client = &self.clients[who];
        let owner = client.owner_at(who, actor.rounds_left);
        match &actor.doing {
            Doing::Acquiring(_) => client.locker.acquire(&owner, said).map(Ended::Acquired),
            Doing::Extending(hold, ..) => client.locker.extend(hold, said).map(Ended::Extended),
            Doing::Releasing(hold, _) => client.locker.release(hold, said).map(Ended::Released),
            Doing::Disclaiming(_) => client.locker.disclaim(&owner, said).map(|()| Ended::Disclaimed),
            Doing::Resting { .. } | Doing::Holding(..) | Doing::Done | Doing::Crashed => Ok(Ended::Disclaimed),
        }
    }

    /// Notes the reply to the command that the operation under way waits for.
    fn record(&self, who: usize, actor: &mut Actor, reply: Reply) {
        let mut said = actor.talk().map(|talk| talk.said.clone()).unwrap_or_default();
        if let Err(Pending::Send(_)) = self.run_over(who, actor, &mut said) {
            said.record_reply(reply);
            said.rewind();
        }
        if let Some(talk) = talk_mut(actor) {
            *talk = Talk { said, in_flight: true };
        }
    }

    /// The client that has been told what was heard from one of the servers that it asks at once. What it hears is on
    /// its way until it has heard from all.
    fn hearing(&self, who: usize, actor: &Actor, from: Node, heard: Heard) -> Actor {
        let mut actor = self.begun(who, actor);
        let mut said = actor.talk().map(|talk| talk.said.clone()).unwrap_or_default();
        if let Err(Pending::Round(open)) = self.run_over(who, &actor, &mut said) {
            said.record_heard(from, heard);
            said.rewind();
            if let Some(talk) = talk_mut(&mut actor) {
                *talk = Talk { said, in_flight: open.len() == 1 };
            }
        }
        actor
    }

    /// The client after its operation, if that is over.
    fn settled(&self, who: usize, actor: Actor, tick: u16) -> (Actor, Option<Ended>) {
        match self.run(who, &actor) {
            Ok(ended) => (self.after(who, &actor, ended.clone(), tick), Some(ended)),
            Err(_) => (actor, None),
        }
    }
}

fn stage(actor: &Actor) -> Stage {
    match &actor.doing {
        Doing::Resting { .. } => Stage::Resting,
        Doing::Acquiring(_) | Doing::Disclaiming(_) => Stage::Trying,
        Doing::Holding(..) => Stage::Holding,
        Doing::Extending(..) => Stage::Extending,
        Doing::Releasing(..) => Stage::Releasing,
        Doing::Done | Doing::Crashed => Stage::Over,
    }
}

/// Whether a command before the last may have changed something. Of a round nobody knows which was the last.
fn has_acted_before(actor: &Actor) -> bool {
    let Some((last, before)) = actor.talk().and_then(|talk| talk.said.entries().split_last()) else { return false };
    matches!(last, Entry::Round(_)) && last.may_have_acted() || before.iter().any(Entry::may_have_acted)
}

fn talk_mut(actor: &mut Actor) -> Option<&mut Talk> {
    match &mut actor.doing {
        Doing::Acquiring(talk)
        | Doing::Extending(_, _, talk)
        | Doing::Releasing(_, talk)
        | Doing::Disclaiming(talk) => Some(talk),
        Doing::Resting { .. } | Doing::Holding(..) | Doing::Done | Doing::Crashed => None,
    }
}

fn with_work(mut actor: Actor, change: impl FnOnce(&mut Work)) -> Actor {
    if let Doing::Holding(_, work) | Doing::Extending(_, work, _) = &mut actor.doing {
        change(work);
    }
    actor
}
