//! The violations that a search has met: of each property, by each cause if those are distinguished, those at the least distance
//! from the start.

use super::blame::CauseId;
use super::expand::Hit;
use super::property::Property;

/// Violations of one property kept, to choose the most readable from.
const MOST_HITS: usize = 1 << 16;

/// The violations of one property, by one cause, at the least distance from the start.
#[derive(Clone, Debug)]
pub(super) struct FoundViolation {
    pub(super) property: Property,
    pub(super) cause: Option<CauseId>,
    pub(super) length: u32,
    pub(super) hits: Vec<Hit>,
}

/// Those of every property that was violated, in the order of meeting.
#[derive(Clone, Debug, Default)]
pub(super) struct FoundViolations(Vec<FoundViolation>);

impl FoundViolations {
    /// Notes what a level at this depth has brought: whatever is farther than what was met before is left out.
    pub(super) fn note<'h>(&mut self, violations: impl IntoIterator<Item = &'h Hit>, depth: u32) {
        for hit in violations {
            let length = depth + u32::from(hit.by.is_some());
            match self.0.iter_mut().find(|met| (met.property, met.cause) == (hit.property, hit.cause)) {
                None => {
                    self.0.push(FoundViolation { property: hit.property, cause: hit.cause, length, hits: vec![*hit] })
                }
                Some(met) if met.length == length && met.hits.len() < MOST_HITS => met.hits.push(*hit),
                Some(_) => {}
            }
        }
    }

    /// How many properties were violated.
    pub(super) fn properties(&self) -> usize {
        let is_first = |place: &usize| self.0[..*place].iter().all(|met| met.property != self.0[*place].property);
        (0..self.0.len()).filter(is_first).count()
    }

    /// Those of every property.
    pub(super) fn all(&self) -> &[FoundViolation] {
        &self.0
    }
}
