//! Which cause a step is: from the action and the state of the client that took it.

use super::super::actor::{Actor, Doing};
use super::super::outcome::OperationKind;
use super::super::scene::Scene;
use super::super::world::Action;
use super::cause::{Cause, CauseKind};
use crate::wire::Entry;

/// Whose step it is, and what the cause follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum Attribution<A> {
    /// This client's, which was in this state right after the server ran its command at this tick.
    Exchange(usize, A, u16),
    /// This client's, that the server has not seen.
    Unseen(usize),
    Crash(usize),
    ExpiredEarly(usize),
    Overrun(usize),
    LateRequest(usize),
    ClockSet(usize),
    /// Of the clock or the server alone.
    Alone(Alone),
}

/// What happens without any client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum Alone {
    Time,
    Failover,
    Restart,
    Eviction,
    RemovalAtDeadline,
    ClockSet,
}

impl<A> Attribution<A> {
    /// Of this action, and the acting client right after the server ran its command, if one ran.
    pub(in super::super) fn of(action: Action, exchanged: Option<A>, tick: u16) -> Self {
        match (action, action.client()) {
            (Action::Crash(_), Some(who)) => Self::Crash(who),
            (Action::RunLate(_), Some(who)) => Self::LateRequest(who),
            (Action::SetClock(..), Some(who)) => Self::ClockSet(who),
            (_, Some(who)) => exchanged.map_or(Self::Unseen(who), |actor| Self::Exchange(who, actor, tick)),
            (Action::FailOver(..), None) => Self::Alone(Alone::Failover),
            (Action::Restart(_) | Action::LoseData(_), None) => Self::Alone(Alone::Restart),
            (Action::Evict(..), None) => Self::Alone(Alone::Eviction),
            (Action::RemoveAtDeadline(..), None) => Self::Alone(Alone::RemovalAtDeadline),
            (Action::SetServerClock(..), None) => Self::Alone(Alone::ClockSet),
            (_, None) => Self::Alone(Alone::Time),
        }
    }

    /// The same, of a client in another form.
    pub(in super::super) fn map<B>(self, actor: impl FnOnce(A) -> B) -> Attribution<B> {
        match self {
            Self::Exchange(who, exchanged, tick) => Attribution::Exchange(who, actor(exchanged), tick),
            Self::Unseen(who) => Attribution::Unseen(who),
            Self::Crash(who) => Attribution::Crash(who),
            Self::ExpiredEarly(who) => Attribution::ExpiredEarly(who),
            Self::Overrun(who) => Attribution::Overrun(who),
            Self::LateRequest(who) => Attribution::LateRequest(who),
            Self::ClockSet(who) => Attribution::ClockSet(who),
            Self::Alone(what) => Attribution::Alone(what),
        }
    }
}

impl Scene {
    /// The cause of this attribution.
    pub(in super::super) fn cause(&self, attribution: Attribution<&Actor>) -> Cause {
        let by = |who: usize, kind| Cause { by: Some(self.clients[self.first_like(who)].protocol.clone()), kind };
        match attribution {
            Attribution::Exchange(who, actor, tick) => by(who, self.exchanged(who, actor, tick)),
            Attribution::Unseen(who) => by(who, CauseKind::Unseen),
            Attribution::Crash(who) => by(who, CauseKind::Crash),
            Attribution::ExpiredEarly(who) => by(who, CauseKind::ExpiredEarly),
            Attribution::Overrun(who) => by(who, CauseKind::Overrun),
            Attribution::LateRequest(who) => by(who, CauseKind::LateRequest),
            Attribution::ClockSet(who) => by(who, CauseKind::ClockSet),
            Attribution::Alone(what) => Cause { by: None, kind: what.kind() },
        }
    }

    fn exchanged(&self, who: usize, actor: &Actor, tick: u16) -> CauseKind {
        let command = actor.operation().and_then(|operation| match operation.transcript.entries().last()? {
            Entry::Exchange(command, _) => Some(command),
            Entry::Round(asked) => asked.first().map(|(command, _)| command),
            Entry::Clock(_) => None,
        });
        let name = command.map(|command| String::from_utf8_lossy(command.name()).into_owned());
        let outcome = self.client_step(who).comes_to(actor, tick).map(|ended| ended.outcome());
        match (name, operation(&actor.doing)) {
            (Some(name), Some(operation)) => CauseKind::Command { name, operation, outcome },
            (_, _) => CauseKind::Unseen,
        }
    }
}

impl Alone {
    fn kind(self) -> CauseKind {
        match self {
            Self::Time => CauseKind::Time,
            Self::Failover => CauseKind::Failover,
            Self::Restart => CauseKind::ServerRestart,
            Self::Eviction => CauseKind::Eviction,
            Self::RemovalAtDeadline => CauseKind::RemovalAtDeadline,
            Self::ClockSet => CauseKind::ServerClockSet,
        }
    }
}

fn operation(doing: &Doing) -> Option<OperationKind> {
    match doing {
        Doing::Acquiring(_) => Some(OperationKind::Acquire),
        Doing::Extending(..) => Some(OperationKind::Extend),
        Doing::Releasing(..) => Some(OperationKind::Release),
        Doing::Disclaiming(_) => Some(OperationKind::Disclaim),
        Doing::Resting { .. } | Doing::Holding(..) | Doing::Done | Doing::Crashed => None,
    }
}
