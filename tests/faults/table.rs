//! The counts of one trial by fault and lock, saved in a file from which the page is made.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::history::Verdict;
use crate::run::RunResult;

/// The counts of all runs of a lock under a fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) runs: u64,
    pub(crate) double_holds: u64,
    pub(crate) stuck: u64,
    pub(crate) false_losses: u64,
    /// Runs that broke a promise of the lock.
    pub(crate) broken_promises: u64,
    /// Runs whose history was judged, and those of them that were impossible.
    pub(crate) histories: u64,
    pub(crate) impossible: u64,
    /// Runs whose history was too long to judge.
    pub(crate) undecided: u64,
    /// Trials whose time ended before the last command was struck.
    pub(crate) left_out: u64,
    pub(crate) longest_recovery: Duration,
}

/// By fault and lock.
pub(crate) type Cells = BTreeMap<(String, String), Counts>;

/// The counts of one trial.
#[derive(Debug, Default)]
pub(crate) struct Table(Mutex<TrialCounts>);

#[derive(Debug, Default)]
struct TrialCounts {
    cells: Cells,
    complaints: Vec<String>,
}

impl Table {
    /// Counts a run.
    pub(crate) fn count(&self, fault: &str, lock: &str, result: RunResult) {
        let observations = result.observations;
        let recovery = observations.recovery.unwrap_or_default();
        self.change(fault, lock, |counts| {
            counts.runs += 1;
            counts.double_holds += u64::from(observations.double_holds > 0);
            counts.stuck += u64::from(observations.is_stuck);
            counts.false_losses += u64::from(observations.false_losses > 0);
            counts.broken_promises += u64::from(result.complaint.is_some());
            counts.histories += u64::from(observations.history != Verdict::Undecided);
            counts.impossible += u64::from(observations.history == Verdict::Impossible);
            counts.undecided += u64::from(observations.history == Verdict::Undecided);
            counts.longest_recovery = counts.longest_recovery.max(recovery);
        });
        self.counted(|counted| counted.complaints.extend(result.complaint));
    }

    /// Counts this many runs after which the lock could be acquired, and one after which it could not if there is a
    /// complaint.
    pub(crate) fn count_recoveries(&self, fault: &str, lock: &str, runs: u64, complaint: Option<String>) {
        self.change(fault, lock, |counts| {
            counts.runs += runs + u64::from(complaint.is_some());
            counts.stuck += u64::from(complaint.is_some());
            counts.broken_promises += u64::from(complaint.is_some());
        });
        self.counted(|counted| counted.complaints.extend(complaint));
    }

    /// Records that the time ended before this lock's last command was struck.
    pub(crate) fn leave_out(&self, fault: &str, lock: &str) {
        self.change(fault, lock, |counts| counts.left_out += 1);
    }

    /// The broken promises, one text per run.
    pub(crate) fn complaints(&self) -> Vec<String> {
        self.counted(|counted| counted.complaints.clone())
    }

    /// Saves the counts: the first line is `head`, followed by a line for each cell.
    pub(crate) fn save(&self, trial: &str, head: &str) {
        let mut text = format!("{head}\n");
        self.counted(|counted| {
            for ((fault, lock), counts) in &counted.cells {
                let numbers = counts.numbers().map(|number| number.to_string()).join("\t");
                writeln!(text, "{fault}\t{lock}\t{numbers}").expect("a String takes everything");
            }
        });
        let path = record(trial);
        std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the build folder is ours");
        std::fs::write(&path, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }

    fn change(&self, fault: &str, lock: &str, change: impl FnOnce(&mut Counts)) {
        self.counted(|counted| change(counted.cells.entry((fault.to_owned(), lock.to_owned())).or_default()));
    }

    fn counted<T>(&self, look: impl FnOnce(&mut TrialCounts) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The saved counts of a trial with their first line; `None` if it was never run.
pub(crate) fn saved(trial: &str) -> Option<(String, Cells)> {
    let text = std::fs::read_to_string(record(trial)).ok()?;
    let mut lines = text.lines();
    let head = lines.next()?.to_owned();
    let cell = |line: &str| {
        let mut words = line.split('\t');
        let (fault, lock) = (words.next()?.to_owned(), words.next()?.to_owned());
        Some(((fault, lock), Counts::read(words)?))
    };
    let cells = lines.map(|line| cell(line).unwrap_or_else(|| panic!("{trial}: not a line of a table: {line}")));
    Some((head, cells.collect()))
}

fn record(trial: &str) -> PathBuf {
    let name = trial.replace("::", "-");
    std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults").join(name).with_extension("tsv")
}

impl Counts {
    fn numbers(&self) -> [u64; 10] {
        let millis = u64::try_from(self.longest_recovery.as_millis()).expect("a recovery is seconds long");
        let Self { runs, double_holds, stuck, false_losses, broken_promises, histories, .. } = *self;
        let rest = [self.impossible, self.undecided, self.left_out, millis];
        [runs, double_holds, stuck, false_losses, broken_promises, histories, rest[0], rest[1], rest[2], rest[3]]
    }

    fn read<'a>(words: impl Iterator<Item = &'a str>) -> Option<Self> {
        let numbers: Vec<u64> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
        let numbers: [u64; 10] = numbers.try_into().ok()?;
        let [
            runs,
            double_holds,
            stuck,
            false_losses,
            broken_promises,
            histories,
            impossible,
            undecided,
            left_out,
            millis,
        ] = numbers;
        let longest_recovery = Duration::from_millis(millis);
        let judged = Self { histories, impossible, undecided, left_out, longest_recovery, ..Self::default() };
        Some(Self { runs, double_holds, stuck, false_losses, broken_promises, ..judged })
    }

    /// Adds the counts of other runs.
    pub(crate) fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.double_holds += other.double_holds;
        self.stuck += other.stuck;
        self.false_losses += other.false_losses;
        self.broken_promises += other.broken_promises;
        self.histories += other.histories;
        self.impossible += other.impossible;
        self.undecided += other.undecided;
        self.left_out += other.left_out;
        self.longest_recovery = self.longest_recovery.max(other.longest_recovery);
    }
}
