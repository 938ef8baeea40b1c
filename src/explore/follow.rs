//! A schedule of one scene, followed by the clients of another: the same delays, faults and ticks, but other protocols.

use super::direct::Direct;
use super::property::Property;
use super::recorder::{Record, Recorder};
use super::rules::apply;
use super::scene::Scene;
use super::trace::Trace;
use super::world::{Action, World};

/// A schedule that follows another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The schedule, step by step. It violates nothing: no step is to blame.
    pub trace: Trace,
    /// For each of its steps, the place of the leader's step during which it is taken.
    pub during: Vec<usize>,
}

/// What a step is within its client's operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartOfOperation {
    /// Others of the same operation follow.
    Earlier,
    /// The one on which the outcome hangs: the last command, or the end of what needs none.
    Decisive,
    /// What comes after that: the reply arrives.
    Later,
}

/// What becomes of a command and its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Received,
    Lost,
    NeverRun,
    Late,
}

impl Fate {
    /// The step that ends so.
    fn of(self, step: Action) -> Action {
        match (self, step) {
            (Self::Lost, Action::Step(who)) => Action::LoseReply(who),
            (Self::Lost, Action::StepOn(who, node)) => Action::LoseReplyOn(who, node),
            (Self::NeverRun, Action::Step(who)) => Action::LoseRequest(who),
            (Self::NeverRun, Action::StepOn(who, node)) => Action::LoseRequestOn(who, node),
            (Self::Late, Action::Step(who)) => Action::DelayRequest(who),
            (Self::Late, Action::StepOn(who, node)) => Action::DelayRequestOn(who, node),
            (Self::Received | Self::Lost | Self::NeverRun | Self::Late, step) => step,
        }
    }
}

/// More steps than any operation has.
const MOST_STEPS: usize = 64;

impl Scene {
    /// Plays the schedule of another scene with this one's clients. Clients are matched by place, operations by moment: a
    /// step of an operation is taken where the leader takes one, and the step that decides its outcome waits for the
    /// moment at which the leader's was decided. What the leader's schedule demands and cannot happen here is left out.
    ///
    /// The followers' steps are round trips, whatever the leader's are.
    pub fn follow(&self, leader: &Self, actions: &[Action], property: Property) -> Followed {
        let scene = self.clone().grain(super::Grain::Coarse);
        let mut follower = Follower { scene: &scene, world: scene.world(), taken: Vec::new(), during: Vec::new() };
        for (place, (action, part)) in actions.iter().zip(leader.parts_of(actions)).enumerate() {
            match (*action, part) {
                (Action::Step(who) | Action::StepOn(who, _), PartOfOperation::Earlier) => follower.step(place, who),
                (Action::Step(who) | Action::StepOn(who, _), PartOfOperation::Decisive) => {
                    follower.decide(place, who, Fate::Received);
                }
                (Action::LoseReply(who) | Action::LoseReplyOn(who, _), _) => {
                    follower.decide(place, who, Fate::Lost);
                }
                (Action::LoseRequest(who) | Action::LoseRequestOn(who, _), _) => {
                    follower.decide(place, who, Fate::NeverRun);
                }
                (Action::DelayRequest(who) | Action::DelayRequestOn(who, _), _) => {
                    follower.decide(place, who, Fate::Late);
                }
                (Action::Step(_) | Action::StepOn(..), PartOfOperation::Later) => {}
                (
                    action @ (Action::Crash(_)
                    | Action::RunLate(_)
                    | Action::RestartClient(_)
                    | Action::SetClock(..)
                    | Action::FailOver(..)
                    | Action::Restart(_)
                    | Action::LoseData(_)
                    | Action::Evict(..)
                    | Action::RemoveAtDeadline(..)
                    | Action::SetServerClock(..)
                    | Action::Tick
                    | Action::Leap),
                    _,
                ) => {
                    follower.take(place, action);
                }
            }
        }
        let trace = Trace { blame: None, ..scene.narrate(property, &follower.taken) };
        Followed { trace, during: follower.during }
    }

    /// What each step of a schedule is within its operation.
    fn parts_of(&self, actions: &[Action]) -> Vec<PartOfOperation> {
        let mut world = self.world();
        let mut parts = vec![PartOfOperation::Earlier; actions.len()];
        // Each client's latest step with an exchange, in the operation under way.
        let mut decisive: Vec<Option<usize>> = vec![None; self.clients.len()];
        for (place, action) in actions.iter().enumerate() {
            let record = self.record(&mut world, *action);
            let Some(who) = action.client().filter(|_| !matches!(action, Action::RunLate(_))) else { continue };
            if record.exchange.is_some() {
                decisive[who] = Some(place);
            } else if decisive[who].is_some() {
                parts[place] = PartOfOperation::Later;
            }
            if let Action::LoseRequest(_)
            | Action::LoseRequestOn(..)
            | Action::DelayRequest(_)
            | Action::DelayRequestOn(..)
            | Action::LoseReply(_)
            | Action::LoseReplyOn(..) = action
            {
                decisive[who] = None;
            } else if record.ended.is_some() || record.wrote.is_some() || matches!(action, Action::Crash(_)) {
                parts[decisive[who].take().unwrap_or(place)] = PartOfOperation::Decisive;
            }
        }
        for place in decisive.into_iter().flatten() {
            parts[place] = PartOfOperation::Decisive;
        }
        parts
    }

    /// Lets an action happen, and records it.
    fn record(&self, world: &mut World, action: Action) -> Record {
        let recorder = Recorder { direct: Direct(self), record: Record::default().into() };
        let Ok(_) = apply(self, &recorder, world, action);
        recorder.record.into_inner()
    }
}

/// The clients that follow.
struct Follower<'a> {
    scene: &'a Scene,
    world: World,
    taken: Vec<Action>,
    during: Vec<usize>,
}

impl Follower<'_> {
    /// Takes the client's next step, unless that would decide its operation.
    fn step(&mut self, place: usize, who: u8) {
        let next = self.next_of(who);
        if !self.would_end(next) {
            self.take(place, next);
        }
    }

    /// Lets the client take its steps until its operation is decided, the last one in this way.
    fn decide(&mut self, place: usize, who: u8, last: Fate) {
        for _ in 0..MOST_STEPS {
            let next = self.next_of(who);
            if self.would_end(next) {
                self.take(place, last.of(next));
                return;
            }
            if !self.take(place, next) {
                return;
            }
        }
    }

    /// The client's next step; if it has asked several servers, on the first that it has not reached yet.
    fn next_of(&self, who: u8) -> Action {
        let is_step = |action: &Action| matches!(action, Action::Step(_) | Action::StepOn(..));
        let mut steps = self.scene.actions(&self.world).into_iter().filter(is_step);
        steps.find(|action| action.client() == Some(who.into())).unwrap_or(Action::Step(who))
    }

    fn would_end(&self, action: Action) -> bool {
        self.is_possible(action) && {
            let record = self.scene.record(&mut self.world.clone(), action);
            record.ended.is_some() || record.wrote.is_some()
        }
    }

    /// Lets an action happen, if it can: whether it did.
    fn take(&mut self, place: usize, action: Action) -> bool {
        let can = self.is_possible(action);
        if can {
            self.world = self.scene.apply(&self.world, action);
            self.taken.push(action);
            self.during.push(place);
        }
        can
    }

    fn is_possible(&self, action: Action) -> bool {
        self.scene.actions(&self.world).contains(&action)
    }
}
