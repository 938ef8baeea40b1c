//! From one world to all that can follow it, judged on the way.

use super::judge::{Change, Judge};
use super::memo::{Memo, Question};
use super::parts::Parts;
use super::places::Places;
use super::property::{Properties, Property};
use super::rules::{actions, apply};
use super::scene::Scene;
use super::symmetry::Symmetry;
use super::visited::{Index, SHARDS, hash, pack, shard_of, unpack};
use super::world::{Action, Left, World};

/// What expanding some worlds has brought: worlds to add, by shard, and violations.
#[derive(Debug)]
pub(super) struct Outbox {
    /// For each shard: hash (two words) and words of each world.
    pub(super) worlds: [Vec<u32>; SHARDS],
    pub(super) violations: Vec<Hit>,
    pub(super) steps: u64,
}

/// A violation, where it was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) property: Property,
    pub(super) at: Index,
    /// The action that violates it; `None` if the world does.
    pub(super) by: Option<Action>,
}

impl Outbox {
    pub(super) fn new() -> Self {
        Self { worlds: std::array::from_fn(|_| Vec::new()), violations: Vec::new(), steps: 0 }
    }

    fn push(&mut self, words: &[u32]) {
        let hash = hash(words);
        let shard = &mut self.worlds[shard_of(hash)];
        shard.extend([(hash >> 32) as u32, hash as u32]);
        shard.extend_from_slice(words);
    }

    fn report(&mut self, violated: Properties, at: Index, by: Option<Action>) {
        self.violations.extend(violated.iter().map(|property| Hit { property, at, by }));
    }
}

/// A step that was taken from a world.
pub(super) struct Taken<'a> {
    pub(super) action: Action,
    /// The words of the world that is kept for the one it led to.
    pub(super) words: &'a [u32],
    /// Where each client went for that.
    pub(super) places: Places,
    /// The client that won by it, in its place before.
    pub(super) winner: Option<usize>,
}

/// Expands worlds, one after the other. Keeps its scratch space between them.
pub(super) struct Expander<'a> {
    scene: &'a Scene,
    symmetry: Symmetry,
    properties: Properties,
    world: World<u32, u32>,
    after: World<u32, u32>,
    actions: Vec<Action>,
    /// What one expansion has found so far; thrown away if it meets an open question.
    found: Vec<u32>,
    broken: Vec<(Properties, Action)>,
}

impl<'a> Expander<'a> {
    pub(super) fn new(scene: &'a Scene, symmetry: Symmetry, properties: Properties) -> Self {
        let left = Left { tick: 0, crashes: 0, lost_replies: 0, failovers: 0 };
        let nothing = World { node: 0, actors: Vec::new(), left };
        let (world, after) = (nothing.clone(), nothing);
        Self { scene, symmetry, properties, world, after, actions: Vec::new(), found: Vec::new(), broken: Vec::new() }
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
        unpack(words, &mut self.world);
        let violated = Judge { scene: self.scene, parts: memo, properties: self.properties }.world(&self.world)?;
        self.follow(memo)?;

        out.report(violated, at, None);
        for &(violated, action) in &self.broken {
            out.report(violated, at, Some(action));
        }
        for words in self.found.chunks_exact(words.len()) {
            out.push(words);
            out.steps += 1;
        }
        Ok(())
    }

    fn follow(&mut self, memo: &Memo<'_>) -> Result<(), Question> {
        let judge = Judge { scene: self.scene, parts: memo, properties: self.properties };
        self.actions.clear();
        actions(self.scene, memo, &self.world, &mut self.actions)?;
        for &action in &self.actions {
            self.after.clone_from(&self.world);
            let exchanged = apply(self.scene, memo, &mut self.after, action)?;
            let change = Change { before: &self.world, action, exchanged: exchanged.as_ref(), after: &self.after };
            let violated = judge.change(&change)?;
            if !violated.is_empty() {
                self.broken.push((violated, action));
            }
            self.symmetry.settle(memo, &mut self.after)?;
            pack(&self.after, &mut self.found);
        }
        Ok(())
    }

    /// Shows each step from a world that was expanded before.
    pub(super) fn steps(
        &mut self,
        memo: &Memo<'_>,
        words: &[u32],
        mut show: impl FnMut(&Taken<'_>),
    ) -> Result<(), Question> {
        unpack(words, &mut self.world);
        self.actions.clear();
        actions(self.scene, memo, &self.world, &mut self.actions)?;
        for &action in &self.actions {
            self.after.clone_from(&self.world);
            apply(self.scene, memo, &mut self.after, action)?;
            let places = self.symmetry.settle(memo, &mut self.after)?;
            let winner = self.winner(memo, action, places)?;
            self.found.clear();
            pack(&self.after, &mut self.found);
            show(&Taken { action, words: &self.found, places, winner });
        }
        Ok(())
    }

    /// The client that has just learnt that it won.
    fn winner(&self, memo: &Memo<'_>, action: Action, places: Places) -> Result<Option<usize>, Question> {
        let Some(who) = action.client() else { return Ok(None) };
        let there = places.of(who);
        let held = memo.look(who, &self.world.actors[who])?.stage.holds();
        let holds = memo.look(there, &self.after.actors[there])?.stage.holds();
        Ok(Some(who).filter(|_| holds && !held))
    }
}
