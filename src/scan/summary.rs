//! What a scan has found: the gravest few findings, and how many there are of each kind.

use std::collections::{BTreeMap, BTreeSet};

use crate::inspect::{Finding, Severity};
use crate::wire::Key;

/// What a scan has found so far, in constant memory.
#[derive(Clone, Debug)]
pub struct ScanSummary {
    most: usize,
    kept: BTreeMap<Rank, Finding>,
    /// The keys that were looked at.
    pub keys: u64,
    /// Those that could not be looked at, because they were on their way to another node of a cluster.
    pub moving: u64,
    /// Those that could not be looked at, because the user may not read them.
    pub forbidden: u64,
    /// Those that may be locks, but have more in them than is fetched.
    pub too_large: u64,
    /// Those that are locks.
    pub locks: u64,
    /// How many locks have which hazard, by its name.
    pub hazards: BTreeMap<&'static str, u64>,
}

/// The place of a finding: the gravest first, then by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank(std::cmp::Reverse<Option<Severity>>, Key);

impl ScanSummary {
    /// Nothing yet; of what comes, this many findings at the most are kept.
    pub fn keeping(most: usize) -> Self {
        Self {
            most,
            kept: BTreeMap::new(),
            keys: 0,
            moving: 0,
            forbidden: 0,
            too_large: 0,
            locks: 0,
            hazards: BTreeMap::new(),
        }
    }

    /// Counts a lock, and keeps it if it is one of the gravest.
    pub fn add(&mut self, finding: Finding) {
        let rank = Rank(std::cmp::Reverse(finding.severity()), finding.sight.key.clone());
        // SCAN may hand a key out twice; seen while it is kept, it counts once.
        if self.kept.contains_key(&rank) {
            return;
        }
        self.locks += 1;
        for name in finding.hazards.iter().map(|hazard| hazard.name()).collect::<BTreeSet<_>>() {
            *self.hazards.entry(name).or_default() += 1;
        }
        self.kept.insert(rank, finding);
        if self.kept.len() > self.most {
            self.kept.pop_last();
        }
    }

    /// The findings that were kept, the gravest first.
    pub fn findings(&self) -> impl ExactSizeIterator<Item = &Finding> {
        self.kept.values()
    }

    /// Whether it could look at every key that it came to.
    pub fn has_seen_all(&self) -> bool {
        self.moving + self.forbidden == 0
    }

    /// Whether any lock has a hazard.
    pub fn is_hazardous(&self) -> bool {
        !self.hazards.is_empty()
    }
}
