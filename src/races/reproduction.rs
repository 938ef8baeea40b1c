//! Finding a race: the search, and what it found.

use std::num::NonZeroUsize;
use std::sync::Arc;

use super::participant::Participant;
use super::race::{Race, Variation};
use super::scenario::Scenario;
use super::sketch::Sketch;
use crate::explore::{Action, Progress, Property, Scene, Search, Stop, Trace};
use crate::lock::Locker;
use crate::wire::{Key, UnixTime};

/// A race, found.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// The schedule.
    pub actions: Vec<Action>,
    /// The schedule, step by step.
    pub trace: Trace,
    /// How many distinct worlds the search met.
    pub states: usize,
    /// Whether the sketch of the race fits it.
    pub fits_sketch: bool,
}

impl Race {
    /// Finds it on a shortest schedule; `None` if the rule is never broken.
    pub fn reproduce(&self, threads: NonZeroUsize, watch: &mut dyn FnMut(&Progress)) -> Option<Reproduction> {
        find(&self.scenario, self.violates, &self.sketch, threads, watch)
    }
}

impl Variation {
    /// Finds it on a shortest schedule; `None` if the rule is never broken.
    pub fn reproduce(&self, threads: NonZeroUsize, watch: &mut dyn FnMut(&Progress)) -> Option<Reproduction> {
        find(&self.scenario, self.violates, &self.sketch, threads, watch)
    }
}

impl Scenario {
    /// Its scene: on the key `lock`, from a second in November 2023 on.
    pub fn scene(&self) -> Scene {
        self.scene_of(self.participants)
    }

    /// The same schedule on another key, at another time; the first moment is a whole second.
    pub fn retell(&self, found: &Reproduction, key: &Key, begin: UnixTime) -> Trace {
        let begin = UnixTime::from_secs(begin.as_secs()).unwrap_or(begin);
        self.scene_at(self.participants, key, begin).narrate(found.trace.property, &found.actions)
    }

    /// The scene of these participants on the usual key at the usual time.
    pub(super) fn scene_of(&self, participants: &[Participant]) -> Scene {
        self.scene_of_locks(participants, &|participant, key| participant.locker(key))
    }

    /// The same with these locks in place of the participants' own.
    pub(super) fn scene_of_locks(
        &self,
        participants: &[Participant],
        lock: &dyn Fn(&Participant, &Key) -> Arc<dyn Locker>,
    ) -> Scene {
        self.scene_with_locks(participants, &Key::from("lock"), UnixTime::from_nanos(1_700_000_000_000_000_000), lock)
    }
}

fn find(
    scenario: &Scenario,
    property: Property,
    sketch: &Sketch,
    threads: NonZeroUsize,
    watch: &mut dyn FnMut(&Progress),
) -> Option<Reproduction> {
    let scene = scenario.scene();
    let search = Search::new(&scene).properties(&[property]).threads(threads).symmetry(true).stop(Stop::AllViolated);
    let findings = search.run(watch);
    let violation = findings.violations.into_iter().next()?;
    let fits_sketch = sketch.fits(&violation.trace);
    Some(Reproduction { actions: violation.actions, trace: violation.trace, states: findings.states, fits_sketch })
}
