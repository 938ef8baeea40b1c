//! A sorted set: members, each with a score.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// A score: never "not a number", so that it can be compared and hashed.
#[derive(Clone, Copy, Debug)]
struct Score(f64);

impl PartialEq for Score {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Score {}

impl Hash for Score {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// A sorted set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ranking {
    scores: BTreeMap<Vec<u8>, Score>,
}

impl Ranking {
    /// How many members there are.
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.scores.is_empty()
    }

    /// The score of a member.
    pub fn score(&self, member: &[u8]) -> Option<f64> {
        self.scores.get(member).map(|score| score.0)
    }

    /// All members, lowest score first; members of one score in the order of their bytes.
    pub fn by_rank(&self) -> Vec<(&[u8], f64)> {
        let mut ranked: Vec<_> = self.scores.iter().map(|(member, score)| (member.as_slice(), score.0)).collect();
        // The map has the members in byte order already, and this sort keeps the order of equals.
        ranked.sort_by(|(_, left), (_, right)| left.partial_cmp(right).unwrap_or(Ordering::Equal));
        ranked
    }

    /// Gives a member this score. Minus zero is kept as zero.
    pub(super) fn insert(&mut self, member: Vec<u8>, score: f64) {
        debug_assert!(!score.is_nan(), "Redis refuses a score that is not a number");
        self.scores.insert(member, Score(score + 0.0));
    }

    /// Removes a member: whether it was there.
    pub(super) fn remove(&mut self, member: &[u8]) -> bool {
        self.scores.remove(member).is_some()
    }
}
