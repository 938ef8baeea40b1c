//! Whether a remedy helps: explored to the end.

use std::num::NonZeroUsize;

use super::race::Race;
use super::remedy::Remedy;
use crate::explore::{End, Progress, Scene, Search, Stop};

/// What exploring a remedy has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Whether the rule is broken all the same.
    pub reproduced: bool,
    /// Whether every world within the bounds was seen.
    pub exhausted: bool,
    /// How many there are.
    pub states: usize,
    /// For how many ticks it was explored.
    pub ticks: u16,
}

impl Race {
    /// Explores one of its remedies beyond the bounds of the race: for so many ticks longer as the remedy says, and twice as
    /// long at least.
    pub fn check(&self, remedy: &Remedy, threads: NonZeroUsize, watch: &mut dyn FnMut(&Progress)) -> Checked {
        let mut scene = self.scene_with(remedy);
        scene.bounds.ticks = (2 * scene.bounds.ticks).max(scene.bounds.ticks + remedy.ticks_beyond);
        self.check_scene(&scene, Stop::Never, threads, watch)
    }

    /// Explores its rule in this scene.
    pub(super) fn check_scene(
        &self,
        scene: &Scene,
        stop: Stop,
        threads: NonZeroUsize,
        watch: &mut dyn FnMut(&Progress),
    ) -> Checked {
        let search = Search::new(scene).properties(&[self.violates]).threads(threads).symmetry(true).stop(stop);
        let findings = search.run(watch);
        Checked {
            reproduced: !findings.violations.is_empty(),
            exhausted: findings.end == End::Exhausted && findings.unjudged.is_empty(),
            states: findings.states,
            ticks: scene.bounds.ticks,
        }
    }

    /// Its scene with a remedy.
    pub fn scene_with(&self, remedy: &Remedy) -> Scene {
        let (scenario, participants) = remedy.apply(&self.scenario);
        scenario.scene_of(&participants)
    }
}

impl Checked {
    /// Whether the rule cannot be broken within these bounds.
    pub fn prevents(&self) -> bool {
        self.exhausted && !self.reproduced
    }
}
