//! All findings, in memory that does not grow with the trace: of each race on each key the first few and the last, and the
//! number of those between them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::finding::{Effect, Finding, Verdict};
use super::locks::LockId;
use crate::race_id::RaceId;
use crate::wire::Key;

/// Number of latest findings of one thread that may still turn out to be another race or get more lines.
const OPEN: usize = 1 << 12;
/// Number of first findings of one race on one key that are kept.
const FIRST: usize = 8;
/// Maximum number of pairs of a race and a key; beyond that, keys are put together.
const GROUPS: usize = 1 << 12;

/// Where in the trace something was found: the line that was read then, and the lock that was judged.
type FoundAt = (u64, LockId);

/// A finding, by the number of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FindingPlace(usize);

/// All findings.
#[derive(Debug, Default)]
pub(super) struct FindingList {
    /// Number of those that no longer change.
    settled: usize,
    open: VecDeque<(FoundAt, Finding)>,
    /// Where what is found now is found.
    found_at: FoundAt,
    groups: HashMap<(Option<RaceId>, u32, Key), Group, FxBuildHasher>,
    /// Those that were added or became another race since they were last asked for, if they are asked for.
    new: Option<Vec<FindingPlace>>,
    /// The races on the keys beyond [`GROUPS`].
    elsewhere: BTreeMap<Option<RaceId>, Group>,
}

/// Findings of one race.
#[derive(Debug, Default)]
struct Group {
    first: Vec<(FoundAt, Finding)>,
    last: Option<(FoundAt, Finding)>,
    more: u64,
}

impl FindingList {
    /// What is found from now on is found when this line is read, of this lock.
    pub(super) fn reads(&mut self, line: u64, lock: LockId) {
        self.found_at = (line, lock);
    }

    /// What is found from now on is found when this line is read, of the same lock.
    pub(super) fn reads_line(&mut self, line: u64) {
        self.found_at.0 = line;
    }

    /// Adds a finding.
    pub(super) fn push(&mut self, key: &Key, database: u32, verdict: Verdict) -> FindingPlace {
        let place = FindingPlace(self.settled + self.open.len());
        self.new.iter_mut().for_each(|new| new.push(place));
        self.open.push_back((self.found_at, Finding { key: key.clone(), database, verdict, more: 0 }));
        if self.open.len() > OPEN {
            self.settle_first();
        }
        place
    }

    /// A finding that may still change.
    pub(super) fn get(&self, place: FindingPlace) -> Option<&Verdict> {
        self.open.get(place.0.checked_sub(self.settled)?).map(|(_, finding)| &finding.verdict)
    }

    fn get_mut(&mut self, place: FindingPlace) -> Option<&mut Verdict> {
        self.open.get_mut(place.0.checked_sub(self.settled)?).map(|(_, finding)| &mut finding.verdict)
    }

    /// This line shows a finding, too, if that may still change.
    pub(super) fn shown_by(&mut self, place: FindingPlace, line: u64) {
        self.get_mut(place).into_iter().for_each(|verdict| verdict.shown_by(line));
    }

    /// This client takes part in a finding, too, as this line shows, if that may still change.
    pub(super) fn involves(&mut self, place: FindingPlace, client: &Arc<str>, line: u64) {
        self.get_mut(place).into_iter().for_each(|verdict| verdict.involves(client, line));
    }

    /// A lost takeover turns out to have had this effect, if it may still change.
    pub(super) fn becomes(&mut self, place: FindingPlace, effect: Effect) {
        self.change(place, |verdict| verdict.becomes(effect));
    }

    /// What was found led to this, if it may still change.
    pub(super) fn led_to(&mut self, place: FindingPlace, consequence: Verdict) {
        self.change(place, |verdict| verdict.led_to(consequence));
    }

    fn change(&mut self, place: FindingPlace, change: impl FnOnce(&mut Verdict)) {
        let Some(verdict) = self.get_mut(place) else { return };
        let race = verdict.race;
        change(verdict);
        if verdict.race != race {
            self.new.iter_mut().filter(|new| !new.contains(&place)).for_each(|new| new.push(place));
        }
    }

    /// The findings that were added or became another race since the last call; none at the first one, which begins that.
    pub(super) fn take_new(&mut self) -> Vec<(LockId, Finding)> {
        let new = self.new.replace(Vec::new()).unwrap_or_default();
        let found = |place: FindingPlace| self.open.get(place.0.checked_sub(self.settled)?);
        new.into_iter().filter_map(found).map(|((_, lock), finding)| (*lock, finding.clone())).collect()
    }

    fn settle_first(&mut self) {
        let Some(found) = self.open.pop_front() else { return };
        self.settled += 1;
        let name = (found.1.verdict.race, found.1.database, found.1.key.clone());
        let has_room = self.groups.len() < GROUPS;
        match self.groups.get_mut(&name) {
            Some(group) => group.add(found),
            None if has_room => self.groups.entry(name).or_default().add(found),
            None => self.elsewhere.entry(found.1.verdict.race).or_default().add(found),
        }
    }

    /// All findings that are kept of these lists, which are of other keys each, in the order of their lines.
    pub(super) fn finish(lists: Vec<Self>) -> Vec<Finding> {
        let mut apart: Vec<(Option<RaceId>, Group)> = Vec::new();
        let mut elsewhere: BTreeMap<Option<RaceId>, Vec<Group>> = BTreeMap::new();
        for mut list in lists {
            while !list.open.is_empty() {
                list.settle_first();
            }
            apart.extend(list.groups.into_iter().map(|((race, ..), group)| (race, group)));
            list.elsewhere.into_iter().for_each(|(race, group)| elsewhere.entry(race).or_default().push(group));
        }
        apart.sort_by_key(|(_, group)| group.begins_at());
        for (race, group) in apart.split_off(GROUPS.min(apart.len())) {
            elsewhere.entry(race).or_default().push(group);
        }
        let groups = apart.into_iter().map(|(_, group)| group).chain(elsewhere.into_values().map(Group::together));
        let mut all: Vec<Finding> = groups.flat_map(Group::kept).collect();
        all.sort_by(|one, other| one.place_in_trace().cmp(&other.place_in_trace()));
        all
    }
}

impl Finding {
    fn place_in_trace(&self) -> impl Ord {
        (self.verdict.lines.last(), self.database, &self.key, self.verdict.race)
    }
}

impl Group {
    fn add(&mut self, found: (FoundAt, Finding)) {
        if self.first.len() < FIRST {
            self.first.push(found);
        } else {
            self.more += u64::from(self.last.is_some());
            self.last = Some(found);
        }
    }

    fn begins_at(&self) -> Option<FoundAt> {
        self.first.first().map(|(found_at, _)| *found_at)
    }

    /// These groups as one.
    fn together(groups: Vec<Self>) -> Self {
        let more: u64 = groups.iter().map(|group| group.more).sum();
        let mut found: Vec<_> =
            groups.into_iter().flat_map(|group| group.first.into_iter().chain(group.last)).collect();
        found.sort_by_key(|(found_at, _)| *found_at);
        let mut all = Self::default();
        found.into_iter().for_each(|found| all.add(found));
        all.more += more;
        all
    }

    fn kept(self) -> impl Iterator<Item = Finding> {
        let more = self.more;
        let last = self.last.map(|(_, last)| Finding { more, ..last });
        self.first.into_iter().map(|(_, finding)| finding).chain(last)
    }
}
