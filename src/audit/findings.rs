//! All findings, in memory that does not grow with the trace: of each race on each key the first few and the last, and the
//! number of those between them.

use std::collections::{BTreeMap, VecDeque};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::finding::{Evidence, Finding, Verdict};
use crate::race_id::RaceId;
use crate::wire::Key;

/// Number of latest findings that may still turn out to be another race or get more lines.
const OPEN: usize = 1 << 12;
/// Number of first findings of one race on one key that are kept.
const FIRST: usize = 8;
/// Maximum number of pairs of a race and a key; beyond that, keys are put together.
const GROUPS: usize = 1 << 12;

/// A finding, by the number of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FindingPlace(usize);

/// All findings.
#[derive(Debug, Default)]
pub(super) struct FindingList {
    /// Number of those that no longer change.
    settled: usize,
    open: VecDeque<Finding>,
    groups: HashMap<(Option<RaceId>, u32, Key), Group, FxBuildHasher>,
    /// Those that were added or became another race since they were last asked for, if they are asked for.
    new: Option<Vec<FindingPlace>>,
    /// The races on the keys beyond [`GROUPS`].
    elsewhere: BTreeMap<Option<RaceId>, Group>,
}

/// Findings of one race.
#[derive(Debug, Default)]
struct Group {
    first: Vec<Finding>,
    last: Option<Finding>,
    more: u64,
}

impl FindingList {
    /// Adds a finding.
    pub(super) fn push(&mut self, key: &Key, database: u32, verdict: Verdict) -> FindingPlace {
        let place = FindingPlace(self.settled + self.open.len());
        self.new.iter_mut().for_each(|new| new.push(place));
        self.open.push_back(Finding { key: key.clone(), database, verdict, more: 0 });
        if self.open.len() > OPEN {
            self.settle_first();
        }
        place
    }

    /// A finding that may still change.
    pub(super) fn get(&self, place: FindingPlace) -> Option<&Verdict> {
        self.open.get(place.0.checked_sub(self.settled)?).map(|finding| &finding.verdict)
    }

    fn get_mut(&mut self, place: FindingPlace) -> Option<&mut Verdict> {
        self.open.get_mut(place.0.checked_sub(self.settled)?).map(|finding| &mut finding.verdict)
    }

    /// This line shows a finding, too, if that may still change.
    pub(super) fn shown_by(&mut self, place: FindingPlace, line: u64) {
        self.get_mut(place).into_iter().for_each(|verdict| verdict.shown_by(line));
    }

    /// A finding turns out to be another race, if it may still change.
    pub(super) fn becomes(&mut self, place: FindingPlace, race: Option<RaceId>, line: Option<u64>, evidence: Evidence) {
        let Some(verdict) = self.get_mut(place) else { return };
        let is_other = verdict.race != race;
        verdict.becomes(race, line, evidence);
        if is_other {
            self.new.iter_mut().filter(|new| !new.contains(&place)).for_each(|new| new.push(place));
        }
    }

    /// The findings that were added or became another race since the last call; none at the first one, which begins that.
    pub(super) fn take_new(&mut self) -> Vec<Finding> {
        let new = self.new.replace(Vec::new()).unwrap_or_default();
        new.into_iter().filter_map(|place| self.open.get(place.0.checked_sub(self.settled)?).cloned()).collect()
    }

    fn settle_first(&mut self) {
        let Some(finding) = self.open.pop_front() else { return };
        self.settled += 1;
        let name = (finding.verdict.race, finding.database, finding.key.clone());
        let has_room = self.groups.len() < GROUPS;
        match self.groups.get_mut(&name) {
            Some(group) => group.add(finding),
            None if has_room => self.groups.entry(name).or_default().add(finding),
            None => self.elsewhere.entry(finding.verdict.race).or_default().add(finding),
        }
    }

    /// All findings that are kept, in the order of their lines.
    pub(super) fn finish(mut self) -> Vec<Finding> {
        while !self.open.is_empty() {
            self.settle_first();
        }
        let groups = self.groups.into_values().chain(self.elsewhere.into_values());
        let mut all: Vec<Finding> = groups.flat_map(Group::kept).collect();
        all.sort_by_key(|finding| finding.verdict.lines.last().copied());
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

    fn kept(self) -> impl Iterator<Item = Finding> {
        let more = self.more;
        self.first.into_iter().chain(self.last.map(|last| Finding { more, ..last }))
    }
}
