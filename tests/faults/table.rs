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

    /// Writes the page.
    pub(crate) fn write_page(&self) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
        std::fs::write(&path, self.page()).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }

    fn page(&self) -> String {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut page = String::from(HEAD);
        let mut fault = "";
        for ((named, lock), counts) in &*table {
            if *named != fault {
                fault = named;
                write!(page, "\n## {fault}\n\n{COLUMNS}").expect("a String takes everything");
            }
            let recovery =
                counts.longest_recovery.map_or_else(|| "-".to_owned(), |it| format!("{} ms", it.as_millis()));
            let Counts { runs, double_holds, stuck, false_losses, .. } = counts;
            writeln!(page, "| `{lock}` | {runs} | {double_holds} | {stuck} | {false_losses} | {recovery} |")
                .expect("a String takes everything");
        }
        page
    }
}

const HEAD: &str = "# Faults\n";
const COLUMNS: &str =
    "| lock | runs | double holds | stuck keys | false losses | longest recovery |\n|---|--:|--:|--:|--:|--:|\n";
