//! Finding a race: the search, and what it found.

use std::num::NonZeroUsize;

use super::cast::Cast;
use super::player::Player;
use super::race::{Race, Variation};
use super::sketch::Sketch;
use crate::explore::{Action, Progress, Property, Scene, Search, Stop, Trace};
use crate::wire::{Key, UnixTime};

/// A race, found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The schedule.
    pub actions: Vec<Action>,
    /// The schedule, told step by step.
    pub trace: Trace,
    /// How many distinct worlds the search met.
    pub states: usize,
    /// Whether it is the race that it was to be: its sketch fits.
    pub is_it: bool,
}

impl Race {
    /// Finds it on a shortest schedule; `None` if the rule is never broken.
    pub fn reproduce(&self, threads: NonZeroUsize, watch: &mut dyn FnMut(&Progress)) -> Option<Found> {
        find(&self.cast, self.violates, &self.sketch, threads, watch)
    }
}

impl Variation {
    /// Finds it on a shortest schedule; `None` if the rule is never broken.
    pub fn reproduce(&self, threads: NonZeroUsize, watch: &mut dyn FnMut(&Progress)) -> Option<Found> {
        find(&self.cast, self.violates, &self.sketch, threads, watch)
    }
}

impl Cast {
    /// Its scene: on the key `lock`, from a second in November 2023 on.
    pub fn scene(&self) -> Scene {
        self.scene_of(self.players)
    }

    /// The same schedule on another key, at another time; the first moment is a whole second.
    pub fn retell(&self, found: &Found, key: &Key, begin: UnixTime) -> Trace {
        let begin = UnixTime::from_secs(begin.as_secs()).unwrap_or(begin);
        self.scene_at(self.players, key, begin).narrate(found.trace.property, &found.actions)
    }

    /// The scene of these players on the usual key at the usual time.
    pub(super) fn scene_of(&self, players: &[Player]) -> Scene {
        self.scene_at(players, &Key::from("lock"), UnixTime::from_nanos(1_700_000_000_000_000_000))
    }
}

fn find(
    cast: &Cast,
    property: Property,
    sketch: &Sketch,
    threads: NonZeroUsize,
    watch: &mut dyn FnMut(&Progress),
) -> Option<Found> {
    let scene = cast.scene();
    let search = Search::new(&scene).properties(&[property]).threads(threads).symmetry(true).stop(Stop::AllViolated);
    let findings = search.run(watch);
    let violation = findings.violations.into_iter().next()?;
    let is_it = sketch.fits(&violation.trace);
    Some(Found { actions: violation.actions, trace: violation.trace, states: findings.worlds, is_it })
}
