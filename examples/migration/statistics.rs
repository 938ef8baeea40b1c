//! The reports of the workers, added up by phase and job.

use std::collections::BTreeMap;

use crate::hold_report::HoldReport;
use crate::program::Program;
use crate::role::Role;

/// The reports of the workers, added up.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    /// All workers there ever were, by number.
    workers: Vec<Worker>,
    /// The sums of this phase, by job.
    phase: BTreeMap<usize, Sum>,
    /// The sums of all phases, by job and program.
    by_program: BTreeMap<(usize, Program), Sum>,
}

/// What is known of a worker.
#[derive(Debug)]
struct Worker {
    job: usize,
    role: Role,
    program: Program,
    /// Since the last reset.
    acquired: u64,
}

/// The sums for one job.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    pub(crate) old: u64,
    /// Of the bridges, or of the guarded workers.
    pub(crate) second: u64,
    /// The hasty ones included.
    pub(crate) modern: u64,
    pub(crate) doubles: u64,
    pub(crate) late: u64,
    pub(crate) intruded: u64,
    pub(crate) longest_wait_ms: u64,
}

impl Sum {
    pub(crate) fn acquired(&self) -> u64 {
        self.old + self.second + self.modern
    }

    fn add(&mut self, role: Role, report: &HoldReport) {
        match role {
            Role::Old => self.old += 1,
            Role::Guarded | Role::Bridge => self.second += 1,
            Role::Modern | Role::Hasty => self.modern += 1,
        }
        self.doubles += u64::from(report.is_double);
        self.late += u64::from(report.is_late);
        self.intruded += u64::from(report.is_intruded);
        self.longest_wait_ms = self.longest_wait_ms.max(report.waited_ms);
    }
}

impl Statistics {
    /// Adds a worker and returns its number.
    pub(crate) fn enrol(&mut self, job: usize, role: Role, program: Program) -> usize {
        self.workers.push(Worker { job, role, program, acquired: 0 });
        self.workers.len() - 1
    }

    pub(crate) fn add(&mut self, report: HoldReport) {
        let Some(worker) = self.workers.get_mut(report.number) else { return };
        worker.acquired += 1;
        let Worker { job, role, program, .. } = *worker;
        self.phase.entry(job).or_default().add(role, &report);
        self.by_program.entry((job, program)).or_default().add(role, &report);
    }

    /// How often this worker has acquired since the last reset.
    pub(crate) fn acquired(&self, number: usize) -> u64 {
        self.workers.get(number).map_or(0, |worker| worker.acquired)
    }

    /// Resets the acquisitions of all workers.
    pub(crate) fn reset(&mut self) {
        self.workers.iter_mut().for_each(|worker| worker.acquired = 0);
    }

    /// How often a worker found another one inside in this phase.
    pub(crate) fn doubles(&self) -> u64 {
        self.phase.values().map(|sum| sum.doubles).sum()
    }

    /// The sums of the phase, by job; the next phase begins.
    pub(crate) fn end_phase(&mut self) -> BTreeMap<usize, Sum> {
        std::mem::take(&mut self.phase)
    }

    /// The sums of all phases for a job, by program.
    pub(crate) fn by_program(&self, job: usize) -> impl Iterator<Item = (Program, &Sum)> {
        self.by_program.iter().filter(move |((of, _), _)| *of == job).map(|((_, program), sum)| (*program, sum))
    }
}
