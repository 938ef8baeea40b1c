//! What exploring one race has found: the race, its variations, its remedies.

use std::num::NonZeroUsize;

use super::behind_guard::BehindGuard;
use super::check::Checked;
use super::race::{Race, Variation};
use super::remedy::Remedy;
use super::reproduction::Reproduction;
use crate::explore::Progress;

/// All that exploring one race has brought.
#[derive(Clone, Debug)]
pub struct RaceResult {
    /// The race.
    pub race: &'static Race,
    /// Its shortest schedule; `None` if it was not found.
    pub found: Option<Reproduction>,
    /// The same in other circumstances.
    pub variations: Vec<(&'static Variation, Option<Reproduction>)>,
    /// Its remedies, and whether each prevents it.
    pub prevented_by: Vec<(&'static Remedy, Checked)>,
    /// Its old clients behind guards, in each mode; empty if no old client takes part.
    pub behind_guards: Vec<BehindGuard>,
}

impl Race {
    /// Finds the race and its variations, and explores its remedies. `watch` is called now and then with what is being
    /// explored, and the progress.
    pub fn explored(&'static self, threads: NonZeroUsize, watch: &mut dyn FnMut(&str, &Progress)) -> RaceResult {
        let found = self.reproduce(threads, &mut |progress| watch(self.id.name(), progress));
        let vary = |variation: &'static Variation| {
            (variation, variation.reproduce(threads, &mut |progress| watch(variation.what, progress)))
        };
        let variations = self.variations.iter().map(vary).collect();
        let check = |remedy: &'static Remedy| {
            let name = remedy.name(&self.scenario);
            (remedy, self.check(remedy, threads, &mut |progress| watch(&name, progress)))
        };
        let prevented_by = self.remedies.iter().map(check).collect();
        let behind_guards = self.behind_guards(threads, watch);
        RaceResult { race: self, found, variations, prevented_by, behind_guards }
    }
}

impl RaceResult {
    /// Whether everything is as the catalogue says: the race and its variations were found and fit their sketches, and every
    /// remedy prevents it, and so does a guard, or the catalogue says why not.
    pub fn is_as_described(&self) -> bool {
        let fits_sketch = |found: &Option<Reproduction>| found.as_ref().is_some_and(|found| found.fits_sketch);
        fits_sketch(&self.found)
            && self.variations.iter().all(|(_, found)| fits_sketch(found))
            && self.prevented_by.iter().all(|(_, checked)| checked.prevents())
            && self.behind_guards.iter().all(BehindGuard::is_as_described)
    }
}
