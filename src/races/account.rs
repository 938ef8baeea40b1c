//! All there is to know of one race: found, varied, and prevented.

use std::num::NonZeroUsize;

use super::check::Checked;
use super::race::{Race, Variation};
use super::remedy::Remedy;
use super::reproduce::Found;
use crate::explore::Progress;

/// All that exploring one race has brought.
#[derive(Clone, Debug)]
pub struct Account {
    /// The race.
    pub race: &'static Race,
    /// Its shortest schedule; `None` if it was not found.
    pub found: Option<Found>,
    /// The same in other circumstances.
    pub variations: Vec<(&'static Variation, Option<Found>)>,
    /// What is said to prevent it, and whether it does.
    pub prevented_by: Vec<(&'static Remedy, Checked)>,
}

impl Race {
    /// Finds the race and its variations, and explores its remedies. `watch` is told now and then what is being explored
    /// and how far that is.
    pub fn account(&'static self, threads: NonZeroUsize, watch: &mut dyn FnMut(&str, &Progress)) -> Account {
        let found = self.reproduce(threads, &mut |progress| watch(self.id, progress));
        let vary = |variation: &'static Variation| {
            (variation, variation.reproduce(threads, &mut |progress| watch(variation.what, progress)))
        };
        let variations = self.variations.iter().map(vary).collect();
        let check = |remedy: &'static Remedy| {
            let name = remedy.name(&self.cast);
            (remedy, self.check(remedy, threads, &mut |progress| watch(&name, progress)))
        };
        Account { race: self, found, variations, prevented_by: self.remedies.iter().map(check).collect() }
    }
}

impl Account {
    /// Whether everything is as the catalogue says: the race was found and is the one it should be, so are its
    /// variations, and every remedy prevents it.
    pub fn is_as_described(&self) -> bool {
        let is_it = |found: &Option<Found>| found.as_ref().is_some_and(|found| found.is_it);
        is_it(&self.found)
            && self.variations.iter().all(|(_, found)| is_it(found))
            && self.prevented_by.iter().all(|(_, checked)| checked.prevents())
    }
}
