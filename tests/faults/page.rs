//! The page `docs/faults.md`, with the counts by fault and by group of locks with the same traits.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::promise::{Damage, FaultRow};
use crate::protocol_traits::ProtocolTraits;
use crate::suite::rows;
use crate::table::{Cells, Counts, saved};
use crate::tested_locks::{TestedLock, is_first_of_its_kind, redlock, tested_locks};

const PAGE: &str = "docs/faults.md";

/// The first line of a saved trial: when it ended, how many seconds it took, the server, the cores, and the extent of the
/// run.
pub(crate) fn head(extent: &str, took: Duration) -> String {
    let ended = DateTime::<Utc>::from(wall()).format("%Y-%m-%d %H:%M");
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    format!("{ended}\t{}\t{}\t{cores}\t{extent}", took.as_secs(), server_version())
}

#[expect(clippy::disallowed_methods, reason = "the page says when the suite was run")]
fn wall() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

fn server_version() -> String {
    let output = Command::new("redis-server").arg("--version").output().expect("the servers were started with it");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split_whitespace().find_map(|word| word.strip_prefix("v="));
    version.expect("it names its version").to_owned()
}

/// Writes the page if the counts of all of these trials have been saved.
pub(crate) fn write(trials: &[String]) {
    let counted: Vec<_> = trials.iter().map(|trial| (trial, saved(trial))).collect();
    let missing: Vec<_> =
        counted.iter().filter(|(_, saved)| saved.is_none()).map(|(trial, _)| trial.as_str()).collect();
    if !missing.is_empty() {
        println!("{PAGE} is not written: these trials have not been run yet: {}", missing.join(", "));
        return;
    }
    let mut facts = Facts::default();
    let mut cells = Cells::new();
    for (head, of_trial) in counted.into_iter().filter_map(|(_, saved)| saved) {
        facts.add(&head);
        for (cell, counts) in of_trial {
            cells.entry(cell).or_default().add(&counts);
        }
    }
    let path = path();
    std::fs::write(&path, page(&facts, &cells))
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    println!("{PAGE} is written");
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE)
}

/// Checks that the page has these rows in this order, and no lock that is not in the catalogue.
///
/// # Errors
/// Describes the difference.
pub(crate) fn assert_has_rows(rows: &[FaultRow]) -> Result<(), String> {
    let page = std::fs::read_to_string(path()).map_err(|error| format!("cannot read {PAGE}: {error}"))?;
    let again = "run the whole suite again, as the page describes";
    let table = page.split("## By fault").nth(1).unwrap_or_default().split("\n## ").next().unwrap_or_default();
    let on_page: Vec<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .skip_while(|name| *name != rows[0].name)
        .collect();
    let in_suite: Vec<&str> = rows.iter().map(|row| row.name).collect();
    if on_page != in_suite {
        return Err(format!("{PAGE} has the rows {on_page:#?}, and the suite {in_suite:#?}: {again}"));
    }
    let locks =
        page.lines().filter_map(|line| line.strip_prefix(LOCKS)).flat_map(|line| line.split('`').skip(1).step_by(2));
    let known: BTreeSet<&str> = tested_locks().iter().map(|tested| tested.name.as_str()).collect();
    let unknown: Vec<&str> = locks.filter(|lock| !known.contains(lock) && !lock.starts_with("redlock,")).collect();
    if unknown.is_empty() {
        Ok(())
    } else {
        Err(format!("{PAGE} has locks that are not in the catalogue: {unknown:?}: {again}"))
    }
}

/// The beginning of the line with the names of a group of locks.
const LOCKS: &str = "Locks: ";

/// When and where the trials were run.
#[derive(Debug, Default)]
struct Facts {
    ended: BTreeSet<String>,
    seconds: u64,
    servers: BTreeSet<String>,
    cores: BTreeSet<String>,
    extents: BTreeSet<String>,
}

impl Facts {
    fn add(&mut self, head: &str) {
        let mut words = head.split('\t');
        let mut next = || words.next().unwrap_or_default().to_owned();
        self.ended.insert(next());
        self.seconds += next().parse::<u64>().unwrap_or_default();
        self.servers.insert(next());
        self.cores.insert(next());
        self.extents.insert(next());
    }
}

fn join(words: &BTreeSet<String>) -> String {
    words.iter().cloned().collect::<Vec<_>>().join(", ")
}

fn page(facts: &Facts, cells: &Cells) -> String {
    let mut page = String::from(HEAD);
    let line = &mut page;
    let total = sum(cells.values());
    let ended = (facts.ended.first().cloned().unwrap_or_default(), facts.ended.last().cloned().unwrap_or_default());
    let names: BTreeSet<&str> = cells.keys().map(|(_, lock)| lock.as_str()).collect();
    let first = tested_locks().iter().filter(|tested| is_first_of_its_kind(tested)).count();
    let left_out = left_out(cells);
    let written = write!(
        line,
        "## The last run\n\n\
        | | |\n|---|---|\n\
        | what was run | {} |\n\
        | trials ended | {} to {} UTC |\n\
        | servers | redis-server {} |\n\
        | cores | {} |\n\
        | locks, both sides of read/write locks counted | {} |\n\
        | runs | {} |\n\
        | runs that broke a promise | {} |\n\
        | histories judged; of these possible, impossible | {}; {}, {} |\n\
        | histories too long to judge | {} |\n\
        | pairs of lock and fault where some commands were not struck for want of time | {} of {} |\n\n\
        The locks are of {first} kinds: locks of one kind send the same commands and have the same weaknesses without \
        faults. In a run of the whole suite every lock is run with every fault at one command. One lock of each kind is then \
        struck at each of its commands, followed by the other locks as long as the time allows. An impossible history \
        without a broken promise belongs to a lock that does not promise more; the tables below give the reason.\n",
        join(&facts.extents),
        ended.0,
        ended.1,
        join(&facts.servers),
        join(&facts.cores),
        names.len(),
        total.runs,
        total.broken_promises,
        total.histories,
        total.histories - total.impossible,
        total.impossible,
        total.undecided,
        left_out.0,
        left_out.1,
    );
    written.expect("a String takes everything");
    by_fault(line, cells);
    by_lock(line, cells);
    *line += &reintroduced();
    page
}

/// The number of pairs of lock and fault for which the time did not suffice, and of all pairs.
fn left_out(cells: &Cells) -> (usize, usize) {
    (cells.values().filter(|counts| counts.left_out > 0).count(), cells.len())
}

fn sum<'a>(counts: impl Iterator<Item = &'a Counts>) -> Counts {
    counts.fold(Counts::default(), |mut sum, counts| {
        sum.add(counts);
        sum
    })
}

fn by_fault(page: &mut String, cells: &Cells) {
    *page += "\n## By fault\n\nSummed over all locks.\n\n";
    *page += "| fault | promised | runs | double holds | stuck keys | false losses | longest recovery |\n";
    *page += "|---|---|--:|--:|--:|--:|--:|\n";
    for row in rows() {
        let counts = sum(cells.iter().filter(|((fault, _), _)| fault == row.name).map(|(_, counts)| counts));
        writeln!(page, "| {} | {} |{}", row.name, promised(row.damage), columns(&counts))
            .expect("a String takes everything");
    }
}

const fn promised(damage: Damage) -> &'static str {
    match damage {
        Damage::Nothing => "all",
        Damage::StoredData => "no stuck key",
        Damage::Permissions => "all; no stuck key where attempts can be undone",
        Damage::WallClock => "all where clients judge no stamp by their clocks",
    }
}

fn columns(counts: &Counts) -> String {
    let Counts { runs, double_holds, stuck, false_losses, .. } = counts;
    let recovery = counts.longest_recovery;
    let recovery = if recovery.is_zero() { "-".to_owned() } else { format!("{:.1} s", recovery.as_secs_f64()) };
    format!(" {runs} | {double_holds} | {stuck} | {false_losses} | {recovery} |")
}

fn by_lock(page: &mut String, cells: &Cells) {
    let servers = cells.keys().find_map(|(_, lock)| lock.strip_prefix("redlock,servers=")?.parse().ok());
    let on_several = servers.map(redlock);
    let mut groups: BTreeMap<ProtocolTraits, Vec<&str>> = BTreeMap::new();
    let known: Vec<&TestedLock> = tested_locks().iter().chain(&on_several).collect();
    for tested in &known {
        if cells.keys().any(|(_, lock)| *lock == tested.name) {
            groups
                .entry(ProtocolTraits {
                    free_after_crash: tested.traits().free_after_crash.map(|_| Duration::ZERO),
                    ..*tested.traits()
                })
                .or_default()
                .push(&tested.name);
        }
    }
    *page += "\n## By lock\n\nLocks with the same weaknesses are in one group. A fault has a line of its own where \
        something was counted; the last line sums up all other faults.\n";
    for (traits, locks) in groups {
        let of_group = |fault: &str| {
            sum(cells
                .iter()
                .filter(|((of, lock), _)| of == fault && locks.contains(&lock.as_str()))
                .map(|(_, counts)| counts))
        };
        write!(page, "\n### {}\n\n{LOCKS}`{}`.\n\n", title(&traits), locks.join("`, `"))
            .expect("a String takes everything");
        *page += "| fault | runs | double holds | stuck keys | false losses | longest recovery |\n|---|--:|--:|--:|--:|--:|\n";
        let (mut quiet, mut faults) = (Counts::default(), 0);
        for row in rows() {
            let counts = of_group(row.name);
            if counts.double_holds + counts.stuck + counts.false_losses > 0 {
                writeln!(page, "| {} |{}", row.name, columns(&counts)).expect("a String takes everything");
            } else if counts.runs > 0 {
                quiet.add(&counts);
                faults += 1;
            }
        }
        writeln!(page, "| {faults} other faults |{}", columns(&quiet)).expect("a String takes everything");
    }
}

/// The weaknesses of a group of locks, as a title.
fn title(traits: &ProtocolTraits) -> String {
    let holes = [
        (traits.admits_two_winners, "two clients that try at once can both win"),
        (traits.ends_early, "a newcomer can win before the lease has ended"),
        (traits.release_frees_nothing, "the release deletes nothing"),
        (traits.free_after_crash.is_none(), "a holder that crashes leaves it locked for ever"),
        (traits.losers_overwrite_winner, "a client that fails to acquire can overwrite the holder's value"),
        (traits.late_release_frees_next, "a release that arrives late frees the next holder's lock"),
        (traits.trusts_clients_clocks, "clients judge a stamp by their own clocks"),
        (!traits.disclaims, "an interrupted attempt cannot be undone"),
    ];
    let holes: Vec<_> = holes.iter().filter(|(is_so, _)| *is_so).map(|(_, what)| *what).collect();
    let mut text = if holes.is_empty() { "no weakness without faults".to_owned() } else { holes.join("; ") };
    text[..1].make_ascii_uppercase();
    text
}

/// The last result of `tests/faults/reintroduce`.
fn reintroduced() -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults/reintroduced.md");
    let found = std::fs::read_to_string(path).unwrap_or_else(|_| "Not run before this page was written.\n".to_owned());
    format!("\n## Does the suite find bugs?\n\n{REINTRODUCED}{found}")
}

const REINTRODUCED: &str = "\
`tests/faults/reintroduce` reintroduces repaired bugs, one at a time in a copy of the sources, and runs trials of the quick
half that must then fail. A patch that no longer applies fails a test.

";

const HEAD: &str = "\
# Faults

What the locks keep while something fails around them: every lock of the catalogue, with the blocking and the tokio driver,
on real servers. A run of the whole fault suite writes this page:

```text
LOCKSHIFT_FAULTS=all cargo test --all-features --test faults
```

It takes less than an hour on two cores. With `LOCKSHIFT_FAULTS=kinds`, one lock of each kind is run with each fault at one
of its commands, in about ten minutes. Trials can be selected by name (`-- blocking::reply_late`); the page is written when
each trial has been run at least once. `cargo test --all-features --test faults` alone runs the quick half: each lock with a
fifth of the faults. A test compares the rows of this page with those of the suite.

In each run one client acquires, holds and releases, and the fault strikes at one of its commands; two other clients compete
for the lock. A witness with a clock of its own records which client held when. Two judges evaluate the records: one compares
intervals, the other searches for an order of all operations in which a lock with leases would have answered the same
(linearizability; an operation whose outcome is unknown may have taken effect at any time, or never). They must agree.

- A **double hold**: the guards of two clients that exclude each other confirmed at the same moment that they held.
- A **stuck key**: the lock could not be acquired after every lease had ended.
- A **false loss**: a holder was notified of a loss while its lease ran and no other client could have held the lock.
- The **longest recovery** is from the fault to the next acquisition, by any of the clients. It depends on the machine.

A run fails if it breaks a promise of the lock. A lock promises what its protocol keeps without faults, as observed on the
simulated server: many old protocols let two clients acquire at once, leave a key for ever when their owner crashes, or let
one client overwrite the value of another. Such runs are counted here and do not fail.

Limits of the test machine: a suspended machine is a stopped process whose `CLOCK_MONOTONIC` did not count that time while
its `CLOCK_BOOTTIME` did; a wall clock is stepped for one process only. Faults of memory, eviction and permissions are set on
the running server. Locks that need a connection of their own (WATCH) cannot be used over a cluster connection and are not
run there. Refusals are not judged, because another waiter may have caused them.

";
