//! What all runs have shown, fault by lock, and the page that says so.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::judge::Shown;

/// The counts of all runs of a lock under a fault, through both drivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Counts {
    runs: u32,
    double_holds: u32,
    stuck: u32,
    false_losses: u32,
    longest_recovery: Option<Duration>,
    /// Through how many drivers the time did not go as far as the last command.
    left_out: u32,
}

/// What all runs have shown.
#[derive(Debug, Default)]
pub(crate) struct Table(Mutex<BTreeMap<(&'static str, String), Counts>>);

/// The page that the whole suite writes.
const PAGE: &str = "docs/faults.md";

impl Table {
    /// Counts a run.
    pub(crate) fn count(&self, fault: &'static str, lock: &str, shown: &Shown) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = table.entry((fault, lock.to_owned())).or_default();
        counts.runs += 1;
        counts.double_holds += u32::from(shown.double_holds > 0);
        counts.stuck += u32::from(shown.is_stuck);
        counts.false_losses += u32::from(shown.false_losses > 0);
        counts.longest_recovery = counts.longest_recovery.max(shown.recovery);
    }

    /// Notes that the time was over before this lock's last command was struck.
    pub(crate) fn leave_out(&self, fault: &'static str, lock: &str) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.entry((fault, lock.to_owned())).or_default().left_out += 1;
    }

    /// Writes the page.
    pub(crate) fn write_page(&self) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
        std::fs::write(&path, self.page()).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }

    fn page(&self) -> String {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut faults: BTreeMap<&str, Vec<(&str, &Counts)>> = BTreeMap::new();
        for ((fault, lock), counts) in &*table {
            faults.entry(fault).or_default().push((lock, counts));
        }
        let mut page = String::from(HEAD);
        let total = |of: fn(&Counts) -> u32| -> u32 { table.values().map(of).sum() };
        page += &format!(
            "{} runs; {} of them with a double hold, {} with a stuck key, {} with a false loss.\n\n",
            total(|it| it.runs),
            total(|it| it.double_holds),
            total(|it| it.stuck),
            total(|it| it.false_losses)
        );
        page += COLUMNS;
        for (fault, locks) in &faults {
            let sum = |of: fn(&Counts) -> u32| locks.iter().map(|(_, counts)| of(counts)).sum();
            let all = Counts {
                runs: sum(|it| it.runs),
                double_holds: sum(|it| it.double_holds),
                stuck: sum(|it| it.stuck),
                false_losses: sum(|it| it.false_losses),
                longest_recovery: locks.iter().filter_map(|(_, counts)| counts.longest_recovery).max(),
                left_out: sum(|it| it.left_out),
            };
            page += &all.row(fault);
        }
        for (fault, locks) in &faults {
            write!(page, "\n## {fault}\n\n{COLUMNS}").expect("a String takes everything");
            locks.iter().for_each(|(lock, counts)| page += &counts.row(&format!("`{lock}`")));
        }
        page
    }
}

impl Counts {
    fn row(&self, of: &str) -> String {
        let Self { runs, double_holds, stuck, false_losses, longest_recovery, left_out } = self;
        let recovery = longest_recovery.map_or_else(|| "-".to_owned(), |it| format!("{:.1} s", it.as_secs_f64()));
        let runs = if *left_out > 0 { format!("{runs}+") } else { runs.to_string() };
        format!("| {of} | {runs} | {double_holds} | {stuck} | {false_losses} | {recovery} |\n")
    }
}

const HEAD: &str = "\
# Faults

What the fault suite has seen, with every lock of the catalogue through both drivers on real servers. It writes this page:

```text
LOCKSHIFT_FAULTS=all cargo test --all-features --test faults
```

In each run one client acquires, stays inside and releases, and the fault strikes at one of its commands; two others want
the lock as well. A number of runs with a `+`: the time was over before every command had been struck.

- A **double hold**: two clients went by their guards at the same moment, and may not hold together.
- A **stuck key**: the lock could not be had when every lease had ended.
- A **false loss**: a holder was told that its lock was lost while its lease ran and no other client could have had it.
- The **longest recovery** is from the fault to the next acquisition, by any of the clients.

A run fails if it breaks what the lock promises. A lock promises what its protocol keeps by itself, as observed on the
simulated server: many old protocols let two clients in by themselves, leave a key for ever when their owner dies, or let
one client spoil the value of another. Such runs are counted here and do not fail. A fault that makes one server forget
its keys takes every lock away that lives there, and a stepped wall clock every lock that trusts it.

";
const COLUMNS: &str =
    "| | runs | double holds | stuck keys | false losses | longest recovery |\n|---|--:|--:|--:|--:|--:|\n";
