//! Which step of a schedule broke the rule.

use super::super::direct::Direct;
use super::super::judge::{Change, Judge};
use super::super::property::{Properties, Property};
use super::super::scene::Scene;
use super::super::world::{Action, World};

impl Scene {
    /// The step that broke the rule, among the steps from each of these worlds to the next.
    pub(in super::super) fn culprit(&self, property: Property, actions: &[Action], worlds: &[World]) -> Option<usize> {
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
            Property::EveryWaiterAcquires => None,
        }
    }

    /// The clients whose lock the rule is about: those that believe in the end that they hold, or all.
    fn victims(&self, property: Property, end: &World) -> Vec<usize> {
        let believes = |who: &usize| self.client_step(*who).view(&end.actors[*who]).believes_until > end.clock.tick;
        let all = 0..self.clients.len();
        match property {
            Property::MutualExclusion | Property::ReaderExcludesWriter => all.filter(believes).collect(),
            _ => all.collect(),
        }
    }

    /// Whether one of these clients loses in this step a lock whose lease is running.
    fn hurts(&self, step: usize, actions: &[Action], worlds: &[World], victims: &[usize]) -> bool {
        let judge = Judge { scene: self, parts: &Direct(self), properties: Properties::default() };
        let (before, after) = (&worlds[step], &worlds[step + 1]);
        let change = Change { before, action: actions[step], exchanged: None, after };
        let lost = |who: &&usize| matches!(judge.loses(&change, **who), Ok(true));
        victims.iter().find(lost).is_some()
    }

    /// The step in which the lease of a client expired that still believes that it holds.
    fn overrun(&self, worlds: &[World], victims: &[usize]) -> Option<usize> {
        let end = worlds.last()?;
        let lease_end = |who: &usize| self.client_step(*who).view(&end.actors[*who]).has_until;
        let over = victims.iter().map(lease_end).filter(|until| *until > 0 && *until <= end.clock.tick).max()?;
        worlds.windows(2).position(|pair| pair[0].clock.tick < over && pair[1].clock.tick >= over)
    }
}
