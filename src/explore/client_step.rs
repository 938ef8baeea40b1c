//! The state machine of one client: which operation it begins, what it does with each input, what it believes.

use super::actor::{Actor, Doing, Operation, Work};
use super::client::{Client, Times};
use super::names;
use super::outcome::Outcome;
use super::parts::{Activity, Claim, ClientView, Input, Next, OpenServers};
use super::scene::Scene;
use super::timeline::Timeline;
use crate::lock::{Acquired, Extended, Hold, Owner, Refusal, Released, Token};
use crate::wire::{Command, Entry, Fault, NoReply, Node, NodeReply, Pending, Reading, Reply, Transcript};

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
    /// How it ended, without what it brought.
    pub(super) fn outcome(&self) -> Outcome {
        match self {
            Self::Acquired(Acquired::Won(_)) => Outcome::Acquired,
            Self::Acquired(Acquired::Held(held)) => match held.reason {
                Refusal::Live => Outcome::Held,
                Refusal::LostTakeover => Outcome::LostTakeover,
                Refusal::Vanished => Outcome::KeyVanished,
                Refusal::Unreadable => Outcome::Unreadable,
                Refusal::NoMajority => Outcome::NoMajority,
            },
            Self::Extended(Extended::Until(_)) => Outcome::Extended,
            Self::Extended(Extended::Intruded(_)) => Outcome::ExtendedBesideIntruder,
            Self::Extended(Extended::Lost) => Outcome::FoundLost,
            Self::Extended(Extended::Unsupported) => Outcome::CannotExtend,
            Self::Released(Released::Freed) => Outcome::Released,
            Self::Released(Released::Lost) => Outcome::ReleasedLost,
            Self::Released(Released::Intruded) => Outcome::ReleasedBesideIntruder,
            Self::Released(Released::LeftAlone) => Outcome::LeftAlone,
            Self::Released(Released::StillHeld) => Outcome::StillHeld,
            Self::Disclaimed => Outcome::Disclaimed,
            Self::Failed(_) => Outcome::Failed,
        }
    }
}

/// The state machine of one client: its program, run step by step. It has no state of its own: that is the [`Actor`].
#[derive(Clone, Copy)]
pub(super) struct ClientStep<'a> {
    client: &'a Client,
    place: usize,
    timeline: Timeline,
}

impl Scene {
    /// The state machine of the client at this place.
    pub(super) fn client_step(&self, place: usize) -> ClientStep<'_> {
        ClientStep { client: &self.clients[place], place, timeline: self.timeline() }
    }
}

impl ClientStep<'_> {
    /// What a client is about to do and what it believes.
    pub(super) fn view(&self, actor: &Actor) -> ClientView<Command> {
        let claim = self.claim(actor);
        let has_until = self.has(actor).map_or(0, |hold| self.timeline.end_of(hold.since.mono, hold.lease));
        ClientView {
            next: self.next(actor),
            at: self.possible_at(actor),
            believes_until: match actor.hold() {
                None => 0,
                Some(_) if !self.client.heeds_lease => u16::MAX,
                Some(hold) => self.timeline.end_of(hold.since.mono, hold.lease),
            },
            has_until,
            activity: activity(actor),
            has_crashed: matches!(actor.doing, Doing::Crashed),
            wants_for_ever: matches!(activity(actor), Activity::Resting | Activity::Trying)
                && actor.tries_left == Times::Forever,
            claim,
        }
    }

    /// The client after this input.
    pub(super) fn input(&self, actor: &Actor, input: Input<Reply>) -> Actor {
        self.input_to_the_end(actor, input).0
    }

    /// The client after this input, and how its operation ended, if that ended it.
    pub(super) fn input_to_the_end(&self, actor: &Actor, input: Input<Reply>) -> (Actor, Option<Ended>) {
        match input {
            Input::Clock(tick) => {
                let reading = self.reading(actor, tick);
                let mut actor = self.begun(actor);
                if let Some(operation) = operation_mut(&mut actor) {
                    operation.transcript.record_clock(reading);
                }
                self.settled(actor, tick)
            }
            Input::Reply(reply) => {
                let mut actor = self.begun(actor);
                if let Doing::Acquiring(_) = actor.doing {
                    // What happened before this command ran takes nothing from what it wins.
                    actor.harmed_by = None;
                }
                self.record(&mut actor, reply);
                (actor, None)
            }
            Input::ReplyOn(node, reply) => (self.with_node_reply(actor, Node(node), NodeReply::Reply(reply)), None),
            Input::SilenceOn(node) => {
                let actor = self.with_node_reply(actor, Node(node), NodeReply::NoReply(NoReply::TooSlow));
                (Actor { has_unanswered: true, ..actor }, None)
            }
            Input::Proceed(tick) => {
                let mut actor = self.begun(actor);
                if let Some(operation) = operation_mut(&mut actor) {
                    operation.in_flight = false;
                }
                self.settled(actor, tick)
            }
            Input::ReplyLost(tick) => {
                let actor = Actor { has_unanswered: true, ..self.begun(actor) };
                (self.without_reply(&actor, tick), None)
            }
            Input::Written => (with_work(actor.clone(), |work| work.wrote = true), None),
            Input::RenewalEnded => (with_work(actor.clone(), |work| work.renews = false), None),
            Input::ClockSet(ticks) => {
                (Actor { clock_ahead: actor.clock_ahead.saturating_add(ticks), ..actor.clone() }, None)
            }
            Input::Restart => {
                let restarts = actor.restarts.saturating_add(1);
                (Actor { restarts, clock_ahead: actor.clock_ahead, ..Actor::fresh(self.client) }, None)
            }
            Input::Crash => {
                let nothing = Times::Of(0);
                (Actor { rounds_left: nothing, tries_left: nothing, ..actor.now(Doing::Crashed) }, None)
            }
        }
    }

    /// The same client under the name of another place.
    pub(super) fn named_as(self, place: usize) -> Self {
        Self { place, ..self }
    }

    /// Who the client is in this state.
    pub(super) fn owner(&self, actor: &Actor) -> Owner {
        let owner = self.client.owner.unwrap_or_else(|| names::owner(self.place, self.client.token_head));
        let restarted = |token: Token| {
            let mut bytes = token.bytes();
            bytes[9] = bytes[9].wrapping_add(actor.restarts);
            Token::new(bytes)
        };
        let round = match (self.client.rounds, actor.rounds_left) {
            (Times::Of(all), Times::Of(left)) => all.saturating_sub(left),
            (Times::Of(_) | Times::Forever, _) => 0,
        };
        let mut bytes = restarted(owner.token).bytes();
        bytes[8] = bytes[8].wrapping_add(actor.tokens_drawn);
        bytes[15] = bytes[15].wrapping_add(round);
        Owner { token: Token::new(bytes), instance: restarted(owner.instance), ..owner }
    }

    /// Its clocks at a tick.
    fn reading(&self, actor: &Actor, tick: u16) -> Reading {
        let tick_ms = i64::try_from(self.timeline.tick.as_millis()).unwrap_or(i64::MAX);
        self.timeline.reading(tick, actor.skew_ms(self.client, tick_ms))
    }

    /// What a client has on the server: held, or won with the reply on its way.
    pub(super) fn has(&self, actor: &Actor) -> Option<Hold> {
        match (actor.hold(), self.ended_in_flight(actor)) {
            (_, Some(Ended::Acquired(Acquired::Won(hold)) | Ended::Extended(Extended::Until(hold)))) => Some(hold),
            (held, _) => held.cloned(),
        }
    }

    /// How the operation under way ends, if its last reply is on its way.
    fn ended_in_flight(&self, actor: &Actor) -> Option<Ended> {
        if actor.awaits_reply() { self.run(actor).ok() } else { None }
    }

    fn claim(&self, actor: &Actor) -> Claim {
        match self.ended_in_flight(actor) {
            None | Some(Ended::Disclaimed | Ended::Failed(_)) => Claim::Open,
            Some(Ended::Acquired(Acquired::Won(_)) | Ended::Extended(Extended::Until(_))) => Claim::Ours,
            Some(Ended::Released(Released::Freed)) if has_acted_before(actor) => Claim::FreedBefore,
            Some(Ended::Released(Released::Freed)) => Claim::Freed,
            Some(Ended::Released(Released::Lost)) => Claim::Lost,
            Some(Ended::Acquired(_) | Ended::Extended(_)) => Claim::NotOurs,
            Some(Ended::Released(Released::LeftAlone | Released::StillHeld | Released::Intruded)) => Claim::NotOurs,
        }
    }

    fn next(&self, actor: &Actor) -> Next<Command> {
        if actor.awaits_reply() {
            return Next::Receive;
        }
        let actor = self.begun(actor);
        match (&actor.doing, actor.operation()) {
            (Doing::Done | Doing::Crashed, _) => Next::Nothing,
            (_, None) => Next::Write,
            (_, Some(_)) => match self.run(&actor) {
                Ok(_) => Next::Conclude,
                Err(Pending::Clock) => Next::ReadClock,
                Err(Pending::Send(command)) => Next::Send(command),
                Err(Pending::Round(commands)) => Next::Round(OpenServers::of(&commands)),
                Err(Pending::Fault(_)) => unreachable!("a fault ends an operation"),
            },
        }
    }

    /// The command for this server in the round that is under way.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn command_on(&self, actor: &Actor, server: u8) -> Command {
        let Err(Pending::Round(open)) = self.run(&self.begun(actor)) else {
            panic!("client {} asks several servers", self.place)
        };
        open.into_iter()
            .find(|command| command.node() == Node(server))
            .expect("this server is among those of the round")
    }

    /// The first tick at which the next step can be taken.
    fn possible_at(&self, actor: &Actor) -> u16 {
        match &actor.doing {
            Doing::Resting { until } => *until,
            Doing::Holding(hold, work) => self.renewal_due(hold, *work).unwrap_or(work.until),
            Doing::Acquiring(_) | Doing::Extending(..) | Doing::Releasing(..) | Doing::Disclaiming(_) => 0,
            Doing::Done | Doing::Crashed => u16::MAX,
        }
    }

    /// When it extends next, if before its work is done.
    fn renewal_due(&self, hold: &Hold, work: Work) -> Option<u16> {
        let renew_after = self.client.renew_after.filter(|_| work.renews)?;
        let due = self.timeline.tick_of(hold.since.mono).saturating_add(renew_after);
        Some(due).filter(|due| *due < work.until)
    }

    /// The client with its next operation begun, nothing sent yet.
    pub(super) fn begun(&self, actor: &Actor) -> Actor {
        match &actor.doing {
            Doing::Resting { .. } => actor.now(Doing::Acquiring(Operation::default())),
            Doing::Holding(hold, work) if self.renewal_due(hold, *work).is_some() => {
                actor.now(Doing::Extending(hold.clone(), *work, Operation::default()))
            }
            Doing::Holding(_, work) if self.client.writes && !work.wrote => actor.clone(),
            Doing::Holding(hold, _) => actor.now(Doing::Releasing(hold.clone(), Operation::default())),
            Doing::Acquiring(_)
            | Doing::Extending(..)
            | Doing::Releasing(..)
            | Doing::Disclaiming(_)
            | Doing::Done
            | Doing::Crashed => actor.clone(),
        }
    }

    /// Runs the operation under way over its transcript; a fault is an end.
    pub(super) fn run(&self, actor: &Actor) -> Result<Ended, Pending> {
        let mut transcript = actor.operation().map(|operation| operation.transcript.clone()).unwrap_or_default();
        let ended = self.run_over(actor, &mut transcript);
        if let Err(Pending::Fault(fault)) = ended { Ok(Ended::Failed(fault)) } else { ended }
    }

    /// Runs the operation under way over this transcript.
    pub(super) fn run_over(&self, actor: &Actor, transcript: &mut Transcript) -> Result<Ended, Pending> {
        let client = self.client;
        let owner = self.owner(actor);
        match &actor.doing {
            Doing::Acquiring(_) => client.locker.acquire(&owner, transcript).map(Ended::Acquired),
            Doing::Extending(hold, ..) => client.locker.extend(hold, transcript).map(Ended::Extended),
            Doing::Releasing(hold, _) => client.locker.release(hold, transcript).map(Ended::Released),
            Doing::Disclaiming(_) => client.locker.disclaim(&owner, transcript).map(|()| Ended::Disclaimed),
            Doing::Resting { .. } | Doing::Holding(..) | Doing::Done | Doing::Crashed => Ok(Ended::Disclaimed),
        }
    }

    /// Notes the reply to the command that the operation under way waits for.
    fn record(&self, actor: &mut Actor, reply: Reply) {
        let mut transcript = actor.operation().map(|operation| operation.transcript.clone()).unwrap_or_default();
        if let Err(Pending::Send(_)) = self.run_over(actor, &mut transcript) {
            transcript.record_reply(reply);
            transcript.rewind();
        }
        if let Some(operation) = operation_mut(actor) {
            *operation = Operation { transcript, in_flight: true };
        }
        self.forgive(actor);
    }

    /// An extension that ran makes up for what harmed the lock before, and for nothing after.
    fn forgive(&self, actor: &mut Actor) {
        if let Some(Ended::Extended(Extended::Until(_))) = self.ended_in_flight(actor) {
            actor.harmed_by = None;
        }
    }

    /// The client after the reply, or the silence, of one of the servers that it asks at once. The round is in flight until
    /// that of the last one.
    fn with_node_reply(&self, actor: &Actor, from: Node, reply: NodeReply) -> Actor {
        let mut actor = self.begun(actor);
        let mut transcript = actor.operation().map(|operation| operation.transcript.clone()).unwrap_or_default();
        if let Err(Pending::Round(open)) = self.run_over(&actor, &mut transcript) {
            transcript.record_node_reply(from, reply);
            transcript.rewind();
            if let Some(operation) = operation_mut(&mut actor) {
                *operation = Operation { transcript, in_flight: open.len() == 1 };
            }
            self.forgive(&mut actor);
        }
        actor
    }

    /// The client after its operation, if that has ended.
    fn settled(&self, actor: Actor, tick: u16) -> (Actor, Option<Ended>) {
        match self.run(&actor) {
            Ok(ended) => (self.after(&actor, ended.clone(), tick), Some(ended)),
            Err(_) => (actor, None),
        }
    }

    fn after(&self, actor: &Actor, ended: Ended, tick: u16) -> Actor {
        match (ended, &actor.doing) {
            (Ended::Acquired(Acquired::Won(hold)), _) => {
                let client = self.client;
                let until = if client.work == 0 { 0 } else { tick.saturating_add(client.work) };
                let work = Work { until, wrote: false, renews: client.renew_after.is_some() };
                Actor { tries_left: client.tries, ..actor.now(Doing::Holding(hold, work)) }
            }
            (Ended::Extended(Extended::Until(hold)), Doing::Extending(_, work, _)) => {
                actor.now(Doing::Holding(hold, *work))
            }
            // As in a driver: a client that learns of an intrusion stops, and releases what is its own.
            (Ended::Extended(Extended::Intruded(hold)), _) => actor.now(Doing::Releasing(hold, Operation::default())),
            (Ended::Extended(Extended::Unsupported) | Ended::Failed(_), Doing::Extending(hold, work, _)) => {
                actor.now(Doing::Holding(hold.clone(), Work { renews: false, ..*work }))
            }
            (Ended::Extended(_) | Ended::Released(_), _) | (_, Doing::Releasing(..)) => self.end_round(actor),
            (Ended::Acquired(Acquired::Held(_)) | Ended::Disclaimed | Ended::Failed(_), _) => {
                self.end_attempt(actor, tick)
            }
        }
    }

    fn end_attempt(&self, actor: &Actor, tick: u16) -> Actor {
        let tries_left = actor.tries_left.less_one();
        if tries_left.is_none_left() {
            return self.end_round(actor);
        }
        let pause = self.client.pause;
        let until = if pause == 0 { 0 } else { tick.saturating_add(pause) };
        Actor { tries_left, ..actor.now(Doing::Resting { until }).with_next_token() }
    }

    fn end_round(&self, actor: &Actor) -> Actor {
        let rounds_left = actor.rounds_left.less_one();
        let doing = if rounds_left.is_none_left() { Doing::Done } else { Doing::Resting { until: 0 } };
        let ended = Actor { rounds_left, tries_left: self.client.tries, ..actor.now(doing) };
        match rounds_left {
            Times::Of(_) => Actor { tokens_drawn: 0, has_unanswered: false, ..ended },
            Times::Forever => ended.with_next_token(),
        }
    }

    /// The connection broke: the client does not know whether the command ran.
    fn without_reply(&self, actor: &Actor, tick: u16) -> Actor {
        match &actor.doing {
            Doing::Acquiring(_) | Doing::Disclaiming(_) => {
                self.settled(actor.now(Doing::Disclaiming(Operation::default())), tick).0
            }
            Doing::Extending(hold, work, _) => actor.now(Doing::Holding(hold.clone(), *work)),
            Doing::Releasing(..) => self.end_round(actor),
            Doing::Resting { .. } | Doing::Holding(..) | Doing::Done | Doing::Crashed => actor.clone(),
        }
    }

    /// How the operation under way ends, if it needs no more replies.
    pub(super) fn comes_to(&self, actor: &Actor, tick: u16) -> Option<Ended> {
        let mut transcript = actor.operation()?.transcript.clone();
        loop {
            match self.run_over(actor, &mut transcript) {
                Ok(ended) => return Some(ended),
                Err(Pending::Fault(fault)) => return Some(Ended::Failed(fault)),
                Err(Pending::Clock) => transcript.record_clock(self.reading(actor, tick)),
                Err(Pending::Send(_) | Pending::Round(_)) => return None,
            }
            transcript.rewind();
        }
    }
}

fn activity(actor: &Actor) -> Activity {
    match &actor.doing {
        Doing::Resting { .. } => Activity::Resting,
        Doing::Acquiring(_) | Doing::Disclaiming(_) => Activity::Trying,
        Doing::Holding(..) => Activity::Holding,
        Doing::Extending(..) => Activity::Extending,
        Doing::Releasing(..) => Activity::Releasing,
        Doing::Done | Doing::Crashed => Activity::Over,
    }
}

/// Whether a command before the last may have changed something. Of a round it is not known which was the last.
pub(super) fn has_acted_before(actor: &Actor) -> bool {
    let Some((last, before)) = actor.operation().and_then(|operation| operation.transcript.entries().split_last())
    else {
        return false;
    };
    matches!(last, Entry::Round(_)) && last.may_have_acted() || before.iter().any(Entry::may_have_acted)
}

/// The operation under way.
pub(super) fn operation_mut(actor: &mut Actor) -> Option<&mut Operation> {
    match &mut actor.doing {
        Doing::Acquiring(operation)
        | Doing::Extending(_, _, operation)
        | Doing::Releasing(_, operation)
        | Doing::Disclaiming(operation) => Some(operation),
        Doing::Resting { .. } | Doing::Holding(..) | Doing::Done | Doing::Crashed => None,
    }
}

fn with_work(mut actor: Actor, change: impl FnOnce(&mut Work)) -> Actor {
    if let Doing::Holding(_, work) | Doing::Extending(_, work, _) = &mut actor.doing {
        change(work);
    }
    actor
}
