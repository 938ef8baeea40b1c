//! The step that broke the rule, and what happened in a few sentences.

use super::judge::{Change, Judge};
use super::property::{Properties, Property};
use super::scene::Scene;
use super::trace::{Content, Millis, Step, Trace};
use super::whole::Whole;
use super::world::{Action, World};

impl Scene {
    /// The step that broke the rule, among the steps from each of these worlds to the next.
    pub(super) fn blame(&self, property: Property, actions: &[Action], worlds: &[World]) -> Option<usize> {
        let last = actions.len().checked_sub(1)?;
        match property {
            Property::MutualExclusion
            | Property::ReaderExcludesWriter
            | Property::LeaseHonoured
            | Property::NoStaleWrite => {
                let victims = self.victims(property, worlds.last()?);
                let loss = (0..=last).rev().find(|step| self.hurts(*step, actions, worlds, &victims));
                Some(loss.or_else(|| self.overrun(worlds, &victims)).unwrap_or(last))
            }
            Property::NoPhantom => (0..=last).rev().find(|step| worlds[*step].node != worlds[step + 1].node),
            Property::ReleasesOnlyOwn
            | Property::TruthfulOutcome
            | Property::TriesAsAsked
            | Property::CanBeTakenAgain
            | Property::NobodyShutOut => Some(last),
        }
    }

    /// Those whose lock the rule is about: who believes to hold in the end, or everybody.
    fn victims(&self, property: Property, end: &World) -> Vec<usize> {
        let believes = |who: &usize| self.look(*who, &end.actors[*who]).believes_until > end.left.tick;
        let everybody = 0..self.clients.len();
        match property {
            Property::MutualExclusion | Property::ReaderExcludesWriter => everybody.filter(believes).collect(),
            _ => everybody.collect(),
        }
    }

    /// Whether one of these loses in this step a lock whose lease is running.
    fn hurts(&self, step: usize, actions: &[Action], worlds: &[World], victims: &[usize]) -> bool {
        let judge = Judge { scene: self, parts: &Whole(self), properties: Properties::default() };
        let (before, after) = (&worlds[step], &worlds[step + 1]);
        let change = Change { before, action: actions[step], exchanged: None, after };
        let lost = |who: &&usize| matches!(judge.loses(&change, **who), Ok(true));
        victims.iter().find(lost).is_some()
    }

    /// The step in which the lease of somebody who still believes was over.
    fn overrun(&self, worlds: &[World], victims: &[usize]) -> Option<usize> {
        let end = worlds.last()?;
        let lease_end = |who: &usize| self.look(*who, &end.actors[*who]).has_until;
        let over = victims.iter().map(lease_end).filter(|until| *until > 0 && *until <= end.left.tick).max()?;
        worlds.windows(2).position(|pair| pair[0].left.tick < over && pair[1].left.tick >= over)
    }
}

impl Trace {
    /// What happened, in a few sentences.
    pub(super) fn explanation(&self) -> String {
        let held = (0..self.actors.len()).filter_map(|who| self.why_it_holds(who));
        held.chain(self.why_it_broke()).collect::<Vec<_>>().join(" ")
    }

    /// Why an actor believes in the end to hold.
    fn why_it_holds(&self, who: usize) -> Option<String> {
        let belief = (*self.steps.last()?.after.beliefs.get(who)?)?;
        let won = |step: &Step| step.before.beliefs[who].is_none() && step.after.beliefs[who].is_some();
        let won = self.steps.iter().rposition(won)?;
        let mine = self.steps[..=won].iter().rev().filter(|step| step.actor == Some(who) && step.exchange.is_some());
        let wrote =
            |step: &&Step| step.before.keys.iter().zip(&step.after.keys).any(|(before, after)| writes(before, after));
        let decisive = mine.clone().find(wrote).or_else(|| mine.clone().next())?;
        let exchange = decisive.exchange.as_ref()?;
        let name = &self.actors[who].name;
        Some(format!("{name} holds {belief} because its {} was answered {}.", exchange.command, exchange.reply))
    }

    fn why_it_broke(&self) -> Option<String> {
        let number = self.blame?;
        let step = self.steps.get(number)?;
        let (name, at) = (self.name_of(step), Millis(step.at_ms));
        if let Action::Tick | Action::Leap = step.action {
            let is_over = |who: &usize| {
                step.before.beliefs[*who].is_some_and(|held| held.from_ms + self.actors[*who].lease_ms <= step.at_ms)
            };
            let whose = (0..self.actors.len()).find(is_over)?;
            return Some(format!("At {at}, {}'s lease was over.", self.actors[whose].name));
        }
        let Some(exchange) = &step.exchange else { return Some(format!("At {at}, {name} {}.", step.note)) };
        let decided = self.steps[..number].iter().rev().find(|earlier| earlier.actor == step.actor);
        let late = decided.map(|earlier| earlier.at_ms).filter(|decided| *decided < step.at_ms);
        let decided = late.map(|decided| format!(", decided at {},", Millis(decided))).unwrap_or_default();
        Some(format!("{name}'s {}{decided} ran at {at} and was answered {}.", exchange.command, exchange.reply))
    }
}

/// Whether a key holds something else than before.
fn writes(before: &Option<Content>, after: &Option<Content>) -> bool {
    before.as_ref().map(|content| &content.value) != after.as_ref().map(|content| &content.value)
}
