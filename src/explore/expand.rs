//! From one world to all that can follow it, judged on the way.

use super::blame::CauseId;
use super::blame::{Blame, Breach};
use super::faults::FaultBudget;
use super::judge::{Change, Judge};
use super::memo::{Memo, Question};
use super::parts::Parts;
use super::places::Places;
use super::property::{Properties, Property};
use super::reduction::receipt;
use super::rules::{actions, apply};
use super::scene::Scene;
use super::search::Search;
use super::symmetry::Symmetry;
use super::visited::{Index, Layout, Reached, SHARDS, pack, shard_of, unpack};
use super::world::{Action, Clock, World};

/// What expanding some worlds has brought: worlds to add, by shard, and violations.
#[derive(Debug)]
pub(super) struct Outbox {
    /// For each shard the worlds, as they are handed over.
    pub(super) worlds: [Vec<u32>; SHARDS],
    layout: Layout,
    pub(super) violations: Vec<Hit>,
    pub(super) steps: u64,
}

/// A violation, where it was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) property: Property,
    /// Which cause is to blame, if that is asked.
    pub(super) cause: Option<CauseId>,
    pub(super) at: Index,
    /// The action that violates it; `None` if the world does.
    pub(super) by: Option<Action>,
}

impl Outbox {
    pub(super) fn new(layout: Layout) -> Self {
        Self { worlds: std::array::from_fn(|_| Vec::new()), layout, violations: Vec::new(), steps: 0 }
    }

    fn push(&mut self, words: &[u32], reached: Reached) {
        let hash = self.layout.hash(words);
        self.layout.hand_over(hash, words, reached, &mut self.worlds[shard_of(hash)]);
        self.steps += 1;
    }

    fn report(&mut self, violated: Properties, at: Index, by: Option<Action>) {
        self.violations.extend(violated.iter().map(|property| Hit { property, cause: None, at, by }));
    }
}

/// A step that was taken from a world.
pub(super) struct Transition<'a> {
    pub(super) action: Action,
    /// The words of the world that is kept for the one it led to.
    pub(super) words: &'a [u32],
    /// Where each client went for that.
    pub(super) places: Places,
    /// Its cause, where causes are distinguished.
    pub(super) cause: Option<CauseId>,
    before: &'a World<u32, u32>,
    after: &'a World<u32, u32>,
}

impl Transition<'_> {
    /// The client that won by it, in its place before. It is known once the world that the step leads to has been expanded.
    pub(super) fn winner(&self, memo: &Memo<'_>) -> Result<Option<usize>, Question> {
        let Some(who) = self.action.client() else { return Ok(None) };
        let there = self.places.of(who);
        let held = memo.view(who, &self.before.actors[who])?.activity.holds();
        let holds = memo.view(there, &self.after.actors[there])?.activity.holds();
        Ok(Some(who).filter(|_| holds && !held))
    }
}

/// Expands worlds, one after the other. Keeps its scratch space between them.
pub(super) struct Expander<'a> {
    scene: &'a Scene,
    symmetry: Symmetry,
    properties: Properties,
    /// Whether causes are distinguished.
    by_cause: bool,
    /// Whether receipts that nothing depends on go before all other steps.
    reduced: bool,
    world: World<u32, u32>,
    after: World<u32, u32>,
    actions: Vec<Action>,
    /// What one expansion has found so far; thrown away if it meets an open question.
    found: Vec<u32>,
    broken: Vec<(Property, Option<CauseId>, Action)>,
    breaches: Vec<Breach>,
    /// A mistake, planted: steps that are left out.
    #[cfg(test)]
    leaves_out: Option<LeftOut>,
}

/// Which steps a planted mistake leaves out.
#[cfg(test)]
pub(super) type LeftOut = fn(&World<u32, u32>, Action) -> bool;

impl<'a> Expander<'a> {
    pub(super) fn new(search: &Search<'a>, symmetry: Symmetry, properties: Properties) -> Self {
        let Search { scene, by_cause, reduced, .. } = *search;
        let nothing = World { node: 0, actors: Vec::new(), clock: Clock::default(), faults: FaultBudget::NONE };
        let (world, after) = (nothing.clone(), nothing);
        let (actions, found, broken, breaches) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self {
            scene,
            symmetry,
            properties,
            by_cause,
            reduced,
            world,
            after,
            actions,
            found,
            broken,
            breaches,
            #[cfg(test)]
            leaves_out: None,
        }
    }

    /// The same with a mistake planted.
    #[cfg(test)]
    pub(super) fn leaving_out(self, leaves_out: Option<LeftOut>) -> Self {
        Self { leaves_out, ..self }
    }

    /// All that can follow the world of these words.
    pub(super) fn expand(
        &mut self,
        memo: &Memo<'_>,
        words: &[u32],
        at: Index,
        out: &mut Outbox,
    ) -> Result<(), Question> {
        self.found.clear();
        self.broken.clear();
        unpack(words, self.scene.bounds.faults, &mut self.world);
        let violated = self.judge(memo, self.of_worlds()).world(&self.world)?;
        self.follow(memo)?;

        out.report(violated, at, None);
        out.violations.extend(self.broken.iter().map(|&(property, cause, by)| Hit {
            property,
            cause,
            at,
            by: Some(by),
        }));
        for (by, words) in (0..).zip(self.found.chunks_exact(words.len())) {
            out.push(words, Reached { from: at, by });
        }
        Ok(())
    }

    /// The steps that are taken from the world.
    fn choose(&mut self, memo: &Memo<'_>) -> Result<(), Question> {
        self.actions.clear();
        if self.reduced {
            self.actions.extend(receipt(self.scene, memo, &self.world)?);
        }
        if self.actions.is_empty() {
            actions(self.scene, memo, &self.world, &mut self.actions)?;
        }
        Ok(())
    }

    fn follow(&mut self, memo: &Memo<'_>) -> Result<(), Question> {
        self.choose(memo)?;
        #[cfg(test)]
        if let Some(leaves_out) = self.leaves_out {
            self.actions.retain(|action| !leaves_out(&self.world, *action));
        }
        for place in 0..self.actions.len() {
            self.take(memo, self.actions[place])?;
            self.symmetry.settle(memo, &mut self.after)?;
            pack(&self.after, self.scene.bounds.faults, &mut self.found);
        }
        Ok(())
    }

    /// Takes a step and judges it. Its cause, where causes are distinguished.
    fn take(&mut self, memo: &Memo<'_>, action: Action) -> Result<Option<CauseId>, Question> {
        self.after.clone_from(&self.world);
        let exchanged = apply(self.scene, memo, &mut self.after, action)?;
        if self.by_cause {
            let judge = self.judge(memo, self.properties.broken_by_steps());
            self.breaches.clear();
            let blame = Blame { judge, before: &self.world, action, exchanged };
            let cause = blame.attribute(&mut self.after, &mut self.breaches)?;
            self.broken.extend(self.breaches.iter().map(|breach| (breach.property, Some(breach.cause), action)));
            Ok(Some(cause))
        } else {
            let change = Change { before: &self.world, action, exchanged: exchanged.as_ref(), after: &self.after };
            let violated = self.judge(memo, self.properties).change(&change)?;
            self.broken.extend(violated.iter().map(|property| (property, None, action)));
            Ok(None)
        }
    }

    fn judge<'m>(&self, memo: &'m Memo<'m>, properties: Properties) -> Judge<'m, Memo<'m>>
    where
        'a: 'm,
    {
        Judge { scene: self.scene, parts: memo, properties }
    }

    /// The properties that worlds are judged by: where violations are reported by cause, not those that a cause breaks.
    fn of_worlds(&self) -> Properties {
        let by_steps = if self.by_cause { self.properties.broken_by_steps() } else { Properties::default() };
        by_steps.iter().fold(self.properties, Properties::without)
    }

    /// Shows each step from a world that was expanded before.
    pub(super) fn steps(
        &mut self,
        memo: &Memo<'_>,
        words: &[u32],
        mut show: impl FnMut(&Transition<'_>),
    ) -> Result<(), Question> {
        unpack(words, self.scene.bounds.faults, &mut self.world);
        self.choose(memo)?;
        for place in 0..self.actions.len() {
            let action = self.actions[place];
            let cause = self.take(memo, action)?;
            let places = self.symmetry.settle(memo, &mut self.after)?;
            self.found.clear();
            pack(&self.after, self.scene.bounds.faults, &mut self.found);
            show(&Transition { action, words: &self.found, places, cause, before: &self.world, after: &self.after });
        }
        Ok(())
    }
}
