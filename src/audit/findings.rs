//! What was found, in memory that does not grow with the trace: of each race on each key the first few and the last, and how
//! many more there were.

use std::collections::{BTreeMap, VecDeque};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::finding::{Certainty, Finding};
use crate::race_id::RaceId;
use crate::wire::Key;

/// So many findings, the latest, may still turn out to be another race, or get more lines that show them.
const OPEN: usize = 1 << 12;
/// So many of one race on one key are told from the first on.
const FIRST: usize = 8;
/// So many pairs of a race and a key are told apart; beyond that the keys are not.
const GROUPS: usize = 1 << 12;

/// A finding, by how many there were before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(usize);

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// How many are kept for good.
    settled: usize,
    open: VecDeque<Finding>,
    groups: HashMap<(Option<RaceId>, u32, Key), Group, FxBuildHasher>,
    /// The races on all keys that are too many to be told apart.
    elsewhere: BTreeMap<Option<RaceId>, Group>,
}

/// Findings of one race.
#[derive(Debug, Default)]
struct Group {
    first: Vec<Finding>,
    last: Option<Finding>,
    more: u64,
}

impl Findings {
    /// One more. What rests on something that is only likely has other explanations.
    pub(super) fn push(&mut self, finding: Finding) -> Place {
        let place = self.next();
        let is_certain = finding.certainty == Certainty::Certain;
        let certainty = if is_certain { Certainty::Certain } else { Certainty::Possible };
        self.open.push_back(Finding { certainty, ..finding });
        if self.open.len() > OPEN {
            self.settle_first();
        }
        place
    }

    /// Where the next one will be.
    pub(super) fn next(&self) -> Place {
        Place(self.settled + self.open.len())
    }

    /// One that was found lately.
    pub(super) fn get(&self, place: Place) -> Option<&Finding> {
        self.open.get(place.0.checked_sub(self.settled)?)
    }

    /// One that was found lately.
    pub(super) fn get_mut(&mut self, place: Place) -> Option<&mut Finding> {
        self.open.get_mut(place.0.checked_sub(self.settled)?)
    }

    /// The one that was found last.
    pub(super) fn last_mut(&mut self) -> Option<&mut Finding> {
        self.open.back_mut()
    }

    fn settle_first(&mut self) {
        let Some(finding) = self.open.pop_front() else { return };
        self.settled += 1;
        let name = (finding.race, finding.database, finding.key.clone());
        let has_room = self.groups.len() < GROUPS;
        match self.groups.get_mut(&name) {
            Some(group) => group.add(finding),
            None if has_room => self.groups.entry(name).or_default().add(finding),
            None => self.elsewhere.entry(finding.race).or_default().add(finding),
        }
    }

    /// All that are told, in the order of their lines; each says how many like it before it are not.
    pub(super) fn finish(mut self) -> Vec<Finding> {
        while !self.open.is_empty() {
            self.settle_first();
        }
        let groups = self.groups.into_values().chain(self.elsewhere.into_values());
        let mut all: Vec<Finding> = groups.flat_map(Group::told).collect();
        all.sort_by_key(|finding| finding.lines.last().copied());
        all
    }
}

impl Group {
    fn add(&mut self, finding: Finding) {
        if self.first.len() < FIRST {
            self.first.push(finding);
        } else {
            self.more += u64::from(self.last.is_some());
            self.last = Some(finding);
        }
    }

    fn told(self) -> impl Iterator<Item = Finding> {
        let more = self.more;
        self.first.into_iter().chain(self.last.map(|last| Finding { more, ..last }))
    }
}
