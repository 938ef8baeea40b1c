//! Whose deed it is, and which.

use super::actor::{Actor, Doing};
use super::conduct::Ended;
use super::deed::{Deed, What};
use super::scene::Scene;
use super::world::Action;
use crate::wire::{Entry, Pending};

/// Whose deed it is, and what it follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Doer<A> {
    /// This client's, which was in this state right after the server ran its command at this tick.
    Exchange(usize, A, u16),
    /// This client's, that the server has not seen.
    Nothing(usize),
    Death(usize),
    Lapse(usize),
    Overrun(usize),
    Time,
    Failover,
}

impl<A> Doer<A> {
    /// Of this action, and the acting client right after the server ran its command, if one ran.
    pub(super) fn of(action: Action, exchanged: Option<A>, tick: u16) -> Self {
        match (action, action.client()) {
            (Action::Crash(_), Some(who)) => Self::Death(who),
            (_, Some(who)) => exchanged.map_or(Self::Nothing(who), |actor| Self::Exchange(who, actor, tick)),
            (Action::FailOver(_), None) => Self::Failover,
            (_, None) => Self::Time,
        }
    }

    /// The same, of a client in another form.
    pub(super) fn map<B>(self, actor: impl FnOnce(A) -> B) -> Doer<B> {
        match self {
            Self::Exchange(who, exchanged, tick) => Doer::Exchange(who, actor(exchanged), tick),
            Self::Nothing(who) => Doer::Nothing(who),
            Self::Death(who) => Doer::Death(who),
            Self::Lapse(who) => Doer::Lapse(who),
            Self::Overrun(who) => Doer::Overrun(who),
            Self::Time => Doer::Time,
            Self::Failover => Doer::Failover,
        }
    }
}

impl Scene {
    /// What was done.
    pub(super) fn deed(&self, doer: Doer<&Actor>) -> Deed {
        let by = |who: usize| Some(self.clients[self.first_like(who)].protocol.clone());
        match doer {
            Doer::Exchange(who, actor, tick) => Deed { by: by(who), what: self.exchanged(who, actor, tick) },
            Doer::Nothing(who) => Deed { by: by(who), what: What::Nothing },
            Doer::Death(who) => Deed { by: by(who), what: What::Death },
            Doer::Lapse(who) => Deed { by: by(who), what: What::Lapse },
            Doer::Overrun(who) => Deed { by: by(who), what: What::Overrun },
            Doer::Time => Deed { by: None, what: What::Time },
            Doer::Failover => Deed { by: None, what: What::Failover },
        }
    }

    fn exchanged(&self, who: usize, actor: &Actor, tick: u16) -> What {
        let command = actor.talk().and_then(|talk| match talk.said.entries().last()? {
            Entry::Exchange(command, _) => Some(command),
            Entry::Round(asked) => asked.first().map(|(command, _)| command),
            Entry::Clock(_) => None,
        });
        let name = command.map(|command| String::from_utf8_lossy(command.name()).into_owned());
        let outcome = self.comes_to(who, actor, tick).map_or_else(|| under_way(&actor.doing), |ended| ended.name());
        name.map_or(What::Nothing, |name| What::Command(name, outcome))
    }

    /// How the operation under way ends, if nobody is to be asked any more but the clock.
    fn comes_to(&self, who: usize, actor: &Actor, tick: u16) -> Option<Ended> {
        let mut said = actor.talk()?.said.clone();
        loop {
            match self.run_over(who, actor, &mut said) {
                Ok(ended) => return Some(ended),
                Err(Pending::Fault(fault)) => return Some(Ended::Failed(fault)),
                Err(Pending::Clock) => said.record_clock(self.reading(who, tick)),
                Err(Pending::Send(_) | Pending::Round(_)) => return None,
            }
            said.rewind();
        }
    }
}

fn under_way(doing: &Doing) -> &'static str {
    match doing {
        Doing::Acquiring(_) => "tries",
        Doing::Extending(..) => "extends",
        Doing::Releasing(..) => "releases",
        Doing::Disclaiming(_) => "disclaims",
        Doing::Resting { .. } | Doing::Holding(..) | Doing::Done | Doing::Crashed => "",
    }
}
