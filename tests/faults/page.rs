//! The page that a run of all of the suite writes: what each fault has shown, and each group of locks that are alike.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::nature::Nature;
use crate::promise::{Harm, Row};
use crate::subjects::{Subject, is_first_of_its_kind, redlock, subjects};
use crate::suite::rows;
use crate::table::{Cells, Counts, saved};

const PAGE: &str = "docs/faults.md";

/// What stands above the counts of a trial: when it ended, how many seconds it took, on what server, and of what it was a
/// part.
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

/// Writes the page, if each of these trials has left what it has shown.
pub(crate) fn write(trials: &[String]) {
    let kept: Vec<_> = trials.iter().map(|trial| (trial, saved(trial))).collect();
    let missing: Vec<_> = kept.iter().filter(|(_, saved)| saved.is_none()).map(|(trial, _)| trial.as_str()).collect();
    if !missing.is_empty() {
        println!("{PAGE} is not written: these trials have not been played yet: {}", missing.join(", "));
        return;
    }
    let mut facts = Facts::default();
    let mut cells = Cells::new();
    for (head, of_trial) in kept.into_iter().filter_map(|(_, saved)| saved) {
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

/// Whether the page has these rows, in this order, and no lock that there is not.
///
/// # Errors
/// In what it differs.
pub(crate) fn assert_has_rows(rows: &[Row]) -> Result<(), String> {
    let page = std::fs::read_to_string(path()).map_err(|error| format!("cannot read {PAGE}: {error}"))?;
    let again = "run all of the suite again, as the page says";
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
    let known: BTreeSet<&str> = subjects().iter().map(|subject| subject.name.as_str()).collect();
    let unknown: Vec<&str> = locks.filter(|lock| !known.contains(lock) && !lock.starts_with("redlock,")).collect();
    if unknown.is_empty() {
        Ok(())
    } else {
        Err(format!("{PAGE} has locks that are not in the catalogue: {unknown:?}: {again}"))
    }
}

/// What begins the line with the names of a group of locks.
const LOCKS: &str = "Locks: ";

/// When and where all trials were played.
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
    let first = subjects().iter().filter(|subject| is_first_of_its_kind(subject)).count();
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
        {first} locks differ from all others in what they send or in what they keep by themselves: one of each kind. In a \
        run of all of the suite every lock meets every fault at one command; the locks of different kinds are then struck \
        at each of their commands, and after them the locks like them, as far as the time goes. A run whose history is impossible is one in which the lock does not promise more: each has a \
        reason in the tables below.\n",
        join(&facts.extents),
        ended.0,
        ended.1,
        join(&facts.servers),
        join(&facts.cores),
        names.len(),
        total.runs,
        total.broken,
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

/// For how many pairs of lock and fault the time did not suffice, of how many.
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
        writeln!(page, "| {} | {} |{}", row.name, promised(row.harm), columns(&counts))
            .expect("a String takes everything");
    }
}

const fn promised(harm: Harm) -> &'static str {
    match harm {
        Harm::None => "all",
        Harm::State => "no stuck key",
        Harm::Rights => "all; no stuck key where attempts can be taken back",
        Harm::WallClock => "all where clients judge no stamp by their clocks",
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
    let mut groups: BTreeMap<Nature, Vec<&str>> = BTreeMap::new();
    let known: Vec<&Subject> = subjects().iter().chain(&on_several).collect();
    for subject in &known {
        if cells.keys().any(|(_, lock)| *lock == subject.name) {
            groups
                .entry(Nature {
                    frees_after: subject.nature().frees_after.map(|_| Duration::ZERO),
                    ..*subject.nature()
                })
                .or_default()
                .push(&subject.name);
        }
    }
    *page += "\n## By lock\n\nLocks that keep the same by themselves stand together. A fault has a line of its own where \
        something was counted; all other faults are summed up in the last line.\n";
    for (nature, locks) in groups {
        let of_group = |fault: &str| {
            sum(cells
                .iter()
                .filter(|((of, lock), _)| of == fault && locks.contains(&lock.as_str()))
                .map(|(_, counts)| counts))
        };
        write!(page, "\n### {}\n\n{LOCKS}`{}`.\n\n", title(&nature), locks.join("`, `"))
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

/// What the locks of a group do not keep by themselves.
fn title(nature: &Nature) -> String {
    let holes = [
        (nature.admits_two, "two that try at once can both win"),
        (nature.ends_early, "a newcomer can win before the lease has ended"),
        (nature.never_frees, "the release deletes nothing"),
        (nature.frees_after.is_none(), "a holder that dies leaves it for ever"),
        (nature.is_spoilt_by_losers, "a client that tries in vain can overwrite the holder's value"),
        (nature.frees_others, "a release that arrives late frees the next holder's lock"),
        (nature.trusts_clients_clocks, "clients judge a stamp by their own clocks"),
        (!nature.disclaims, "an interrupted attempt cannot be taken back"),
    ];
    let holes: Vec<_> = holes.iter().filter(|(is_so, _)| *is_so).map(|(_, what)| *what).collect();
    let mut text = if holes.is_empty() { "keeps everything by itself".to_owned() } else { holes.join("; ") };
    text[..1].make_ascii_uppercase();
    text
}

/// What `tests/faults/reintroduce` has found.
fn reintroduced() -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults/reintroduced.md");
    let found = std::fs::read_to_string(path).unwrap_or_else(|_| "Not run before this page was written.\n".to_owned());
    format!("\n## Whether the suite sees a bug\n\n{REINTRODUCED}{found}")
}

const REINTRODUCED: &str = "\
`tests/faults/reintroduce` puts bugs back that were repaired, one at a time in a copy of the sources, and runs rows of the
quick half that must fail then. A patch that no longer applies fails a test.

";

const HEAD: &str = "\
# Faults

What the locks keep while something breaks around them: every lock of the catalogue, with threads and with tasks, on real
servers. This page is written by a run of all of the fault suite:

```text
LOCKSHIFT_FAULTS=all cargo test --all-features --test faults
```

It takes less than an hour on two cores; with `LOCKSHIFT_FAULTS=kinds` one lock of each kind is played, each fault at one of
its commands, in about ten minutes. Part of it can be run by naming trials at the end (`-- blocking::reply_late`); the
page is written when each trial has been played at least once. `cargo test --all-features --test faults` alone runs the quick
half: each lock meets a fifth of the faults. A test of it compares the rows of this page with those of the suite.

In each run one client acquires, stays inside and releases, and the fault strikes at one of its commands; two other clients
want the lock as well. A witness on a clock of its own notes which client was inside when. Two judges read that afterwards:
one compares intervals, the other searches for an order of all operations in which a lock with leases would have answered the
same (linearizability; an operation whose outcome is unknown may have taken effect at any time, or never). They must agree.

- A **double hold**: two clients went by their guards at the same moment, and may not hold together.
- A **stuck key**: the lock could not be acquired when every lease had ended.
- A **false loss**: a holder was notified that its lock is lost while its lease ran and no other client could have had it.
- The **longest recovery** is from the fault to the next acquisition, by any of the clients. It depends on the machine.

A run fails if it breaks what the lock promises. A lock promises what its protocol keeps by itself, as observed on the
simulated server: many old protocols let two clients in by themselves, leave a key for ever when their owner dies, or let one
client spoil the value of another. Such runs are counted here and do not fail.

What a fault cannot be on a test machine: a suspended machine is a process that stands still and whose `CLOCK_MONOTONIC` has
not counted that time, while `CLOCK_BOOTTIME` has; a stepped wall clock is stepped for one process. A fault of memory,
eviction or access rights is set on the running server. Locks that need a connection of their own (WATCH) cannot be used on a
cluster, where one connection leads to all masters, and are not played there. A refusal is not judged: a waiter may be refused
because of another waiter.

";
