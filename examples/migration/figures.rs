//! What the workers have told, added up by phase and job.

use std::collections::BTreeMap;

use crate::news::News;
use crate::role::Role;

/// What the workers have told.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// Everybody who ever was here, by number: the job, the role, and how often they have acquired since the last count.
    roll: Vec<(usize, Role, u64)>,
    /// What this phase has come to, job by job.
    phase: BTreeMap<usize, Sum>,
    all: BTreeMap<usize, Sum>,
}

/// What it comes to for one job.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    pub(crate) old: u64,
    pub(crate) bridge: u64,
    /// Those that go without a plan, too.
    pub(crate) modern: u64,
    pub(crate) doubles: u64,
    pub(crate) late: u64,
    pub(crate) intruded: u64,
    pub(crate) longest_wait_ms: u64,
}

impl Sum {
    pub(crate) fn acquired(&self) -> u64 {
        self.old + self.bridge + self.modern
    }

    fn add(&mut self, role: Role, news: &News) {
        match role {
            Role::Old => self.old += 1,
            Role::Bridge => self.bridge += 1,
            Role::Modern | Role::Hasty => self.modern += 1,
        }
        self.doubles += u64::from(news.is_double);
        self.late += u64::from(news.is_late);
        self.intruded += u64::from(news.is_intruded);
        self.longest_wait_ms = self.longest_wait_ms.max(news.waited_ms);
    }
}

impl Figures {
    /// The number of somebody new.
    pub(crate) fn enrol(&mut self, job: usize, role: Role) -> usize {
        self.roll.push((job, role, 0));
        self.roll.len() - 1
    }

    pub(crate) fn add(&mut self, news: News) {
        let Some((job, role, acquired)) = self.roll.get_mut(news.number) else { return };
        *acquired += 1;
        self.phase.entry(*job).or_default().add(*role, &news);
        self.all.entry(*job).or_default().add(*role, &news);
    }

    /// How often somebody has acquired since the last count.
    pub(crate) fn acquired(&self, number: usize) -> u64 {
        self.roll.get(number).map_or(0, |(_, _, acquired)| *acquired)
    }

    /// Counts from nothing.
    pub(crate) fn count_anew(&mut self) {
        self.roll.iter_mut().for_each(|(_, _, acquired)| *acquired = 0);
    }

    /// How often somebody found somebody else inside, in this phase.
    pub(crate) fn doubles(&self) -> u64 {
        self.phase.values().map(|sum| sum.doubles).sum()
    }

    /// What the phase has come to, job by job; the next one begins.
    pub(crate) fn end_phase(&mut self) -> BTreeMap<usize, Sum> {
        std::mem::take(&mut self.phase)
    }

    /// What all phases have come to for a job.
    pub(crate) fn all(&self, job: usize) -> Sum {
        self.all.get(&job).copied().unwrap_or_default()
    }
}
