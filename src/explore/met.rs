//! The violations that a search has met: of each property those at the least distance from the start.

use super::expand::Hit;
use super::property::Property;

/// Violations of one property kept, to choose the most readable from.
const MOST_HITS: usize = 1 << 16;

/// The violations of one property at the least distance from the start.
#[derive(Clone, Debug)]
pub(super) struct Met {
    pub(super) property: Property,
    pub(super) length: u32,
    pub(super) hits: Vec<Hit>,
}

/// Those of every property that was violated.
#[derive(Clone, Debug, Default)]
pub(super) struct AllMet(Vec<Met>);

impl AllMet {
    /// Notes what a level at this depth has brought: whatever is farther than what was met before is left out.
    pub(super) fn note(&mut self, violations: &[Hit], depth: u32) {
        for hit in violations {
            let length = depth + u32::from(hit.by.is_some());
            match self.0.iter_mut().find(|met| met.property == hit.property) {
                None => self.0.push(Met { property: hit.property, length, hits: vec![*hit] }),
                Some(met) if met.length == length && met.hits.len() < MOST_HITS => met.hits.push(*hit),
                Some(_) => {}
            }
        }
    }

    /// Adds those of properties that only the whole search can judge.
    pub(super) fn extend(&mut self, found: impl IntoIterator<Item = (Property, u32, Vec<Hit>)>) {
        self.0.extend(found.into_iter().map(|(property, length, hits)| Met { property, length, hits }));
    }

    /// How many properties were violated.
    pub(super) fn properties(&self) -> usize {
        self.0.len()
    }

    /// In the order of the properties.
    pub(super) fn in_order(&self) -> Vec<&Met> {
        let mut all: Vec<&Met> = self.0.iter().collect();
        all.sort_by_key(|met| met.property);
        all
    }
}
