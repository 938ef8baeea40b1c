//! The trials: each fault with each driver, and in each trial the locks of the catalogue.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};

use crate::drivers::{Destination, Driver, runtime};
use crate::dropped_futures::{self, Dropped};
use crate::faults::{FAULTS, Fault};
use crate::many_waiters::{self, MANY_WAITERS};
use crate::promise::FaultRow;
use crate::run::{FaultRun, RunResult};
use crate::server::{Options, Server};
use crate::several_servers::{self, OF_CLUSTER, OF_SENTINEL};
use crate::table::Table;
use crate::tested_locks::{TestedLock, is_first_of_its_kind, tested_locks};
use crate::witness::{Stamp, stamp};
use crate::woken_waiter::{self, WOKEN_AND_CUT_OFF};
use crate::{bugs, history, page};

/// How many runs of a trial are played at once: they mostly wait.
const AT_ONCE: usize = 24;

/// In the quick half, each lock is run with one in this many faults.
const SHARE: usize = 5;

/// How much of the suite is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Every lock with a share of the faults, each at one command, half of them with either driver.
    Quick,
    /// One lock of each kind with every fault and both drivers, each at one command.
    Kinds,
    /// Every lock with every fault and both drivers: at one command, then at each command as long as the time allows.
    All {
        /// The time for one trial.
        each: Duration,
    },
}

/// The time for the whole suite, unless LOCKSHIFT_FAULTS_MINUTES is set. Runs that begin before the time of their trial has
/// ended are completed, so the suite takes somewhat longer.
const MINUTES: u64 = 45;
/// How many trials are run at once, with every lock in each.
const TRIALS_AT_ONCE: usize = 3;

impl Extent {
    fn from_env() -> Self {
        match std::env::var("LOCKSHIFT_FAULTS") {
            Ok(text) if text == "all" => {
                let minutes = std::env::var("LOCKSHIFT_FAULTS_MINUTES");
                let minutes =
                    minutes.map_or(MINUTES, |text| text.parse().expect("LOCKSHIFT_FAULTS_MINUTES is a number"));
                let trials = Driver::BOTH.len() * (FAULTS.len() + ELSEWHERE);
                let each = Duration::from_secs(minutes * 60) * TRIALS_AT_ONCE as u32 / trials as u32;
                Self::All { each }
            }
            Ok(text) if text == "kinds" => Self::Kinds,
            Ok(text) => panic!("LOCKSHIFT_FAULTS is `kinds`, `all` or is not set, but not `{text}`"),
            Err(_) => Self::Quick,
        }
    }

    /// A description for the page.
    const fn description(self) -> &'static str {
        match self {
            Self::Quick => "the quick half",
            Self::Kinds => "one lock of each kind, each fault at one of its commands (`LOCKSHIFT_FAULTS=kinds`)",
            Self::All { .. } => "all locks, each fault at one of their commands, then at each (`LOCKSHIFT_FAULTS=all`)",
        }
    }

    /// The locks of a trial that runs all of them.
    fn locks(self) -> impl Iterator<Item = Numbered> {
        let is_included = move |(_, tested): &Numbered| self != Self::Kinds || is_first_of_its_kind(tested);
        tested_locks().iter().enumerate().filter(is_included)
    }

    /// How many trials are run at once. A share of a trial's runs leaves room for those of others.
    const fn trials_at_once(self) -> usize {
        match self {
            Self::Quick => 2 * TRIALS_AT_ONCE,
            Self::Kinds | Self::All { .. } => TRIALS_AT_ONCE,
        }
    }

    /// When a trial that begins now ends.
    fn deadline(self) -> Stamp {
        match self {
            Self::Quick | Self::Kinds => Stamp::MAX,
            Self::All { each } => stamp() + each,
        }
    }
}

/// How many trials per driver do not run on a single server.
const ELSEWHERE: usize = 5;

/// All rows of the table, in its order.
pub(crate) fn rows() -> Vec<FaultRow> {
    let dropped = Dropped::ALL.map(Dropped::row);
    let elsewhere = OF_CLUSTER.into_iter().chain(OF_SENTINEL).chain([WOKEN_AND_CUT_OFF]).chain(dropped);
    FAULTS.iter().map(|fault| fault.row).chain(elsewhere).chain([MANY_WAITERS]).collect()
}

/// Runs what the arguments select.
pub(crate) fn run() -> ExitCode {
    let extent = Extent::from_env();
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(extent.trials_at_once()));
    let all: Vec<(String, TrialBody)> = Driver::BOTH
        .into_iter()
        .flat_map(|driver| at_commands(driver, extent).chain(elsewhere(driver, extent)))
        .collect();
    let names: Vec<String> = all.iter().map(|(name, _)| name.clone()).collect();
    // The longest first, so that short trials fill the gaps.
    let trials = all.into_iter().rev().map(|(name, body)| {
        let trial = name.clone();
        Trial::test(name, move || run_trial(&trial, extent, body))
    });
    let judges = [
        Trial::test("judge::impossible_histories_are_found", || {
            history::assert_judges();
            Ok(())
        }),
        Trial::test("judge::the_traits_of_safe_locks_have_no_weakness", || {
            let keeps_all = |name: &&str| {
                let traits = tested_locks().iter().find(|tested| tested.name == *name).expect("it is listed").traits();
                !(traits.admits_two_winners
                    || traits.ends_early
                    || traits.release_frees_nothing
                    || traits.losers_overwrite_winner)
                    && traits.free_after_crash.is_some()
            };
            let leaky: Vec<_> = ["token", "token-fenced", "reentrant", "fair", "redisson"]
                .into_iter()
                .filter(|name| !keeps_all(name))
                .collect();
            if leaky.is_empty() {
                Ok(())
            } else {
                Err(format!("their traits are weaker than what they keep: {leaky:?}").into())
            }
        }),
        Trial::test("page::its_rows_are_those_of_the_suite", || Ok(page::assert_has_rows(&rows())?)),
        Trial::test("bugs::the_patches_that_reintroduce_them_apply", || Ok(bugs::assert_apply()?)),
    ];
    let conclusion = libtest_mimic::run(&arguments, judges.into_iter().chain(trials).collect());
    if extent != Extent::Quick && !arguments.list {
        page::write(&names);
    }
    conclusion.exit_code()
}

type TrialBody = Box<dyn FnOnce(&Table) + Send>;

/// Runs a trial, and saves its counts unless only the quick half is run.
fn run_trial(trial: &str, extent: Extent, body: TrialBody) -> Result<(), Failed> {
    let (table, began) = (Table::default(), stamp());
    body(&table);
    if extent != Extent::Quick {
        table.save(trial, &page::head(extent.description(), stamp() - began));
    }
    let complaints = table.complaints();
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n").into()) }
}

/// The trials of one driver with faults that strike at a command to a single server.
fn at_commands(driver: Driver, extent: Extent) -> impl Iterator<Item = (String, TrialBody)> {
    FAULTS.iter().enumerate().map(move |(place, fault)| {
        let name = format!("{driver}::{}", fault.row.name.to_lowercase().replace(", ", "_").replace(' ', "_"));
        let body: TrialBody = Box::new(move |table| FaultTrial { fault, place, driver, extent }.run(table));
        (name, body)
    })
}

/// The other trials of one driver.
fn elsewhere(driver: Driver, extent: Extent) -> impl Iterator<Item = (String, TrialBody)> {
    let locks: Vec<&'static TestedLock> = match extent {
        Extent::Quick => tested_locks().iter().skip(usize::from(driver == Driver::Tokio)).step_by(8).collect(),
        Extent::Kinds | Extent::All { .. } => extent.locks().map(|(_, tested)| tested).collect(),
    };
    let (most_commands, waiters, times) = match extent {
        Extent::Quick => (2, 300, 2),
        Extent::Kinds => (2, 10_000, 10),
        Extent::All { .. } => (20, 10_000, 50),
    };
    let on_master = locks.clone();
    let mut trials: Vec<(&str, TrialBody)> = vec![
        (
            "on_a_cluster",
            Box::new(move |table| several_servers::on_a_cluster(&locks, driver, extent.deadline(), table)),
        ),
        (
            "behind_a_sentinel",
            Box::new(move |table| several_servers::behind_a_sentinel(&on_master, driver, extent.deadline(), table)),
        ),
        (
            "on_three_masters",
            Box::new(move |table| several_servers::on_three_masters(driver, most_commands, extent.deadline(), table)),
        ),
        ("woken_and_cut_off", Box::new(move |table| woken_waiter::is_cut_off(driver, times, table))),
    ];
    if driver == Driver::Tokio {
        trials.push(("futures_dropped_at_each_await", Box::new(move |table| dropped_at_each_await(extent, table))));
        trials.push((
            "every_waiter_acquires",
            Box::new(move |table| many_waiters::every_waiter_acquires(waiters, table)),
        ));
    }
    trials.into_iter().map(move |(name, body)| (format!("{driver}::{name}"), body))
}

/// Drops futures of all locks, or of a share of them. Locks are excluded whose release frees nothing, or frees nothing after
/// another client failed to acquire: what was left behind could not be distinguished.
fn dropped_at_each_await(extent: Extent, table: &Table) {
    let share = if extent == Extent::Quick { SHARE } else { 1 };
    let server = Server::start();
    let destination = Destination::to(&[server.url()]);
    for dropped in Dropped::ALL {
        let locks = extent.locks().map(|(_, tested)| tested).skip(dropped as usize).step_by(share);
        let can_tell = |tested: &&'static TestedLock| {
            let traits = tested.traits();
            !(traits.release_frees_nothing || traits.losers_overwrite_winner && dropped == Dropped::Wait)
        };
        let locks: Vec<_> = locks.filter(can_tell).collect();
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    while let Some(tested) = locks.get(next.fetch_add(1, Ordering::SeqCst)) {
                        let (runs, complaint) =
                            runtime().block_on(dropped_futures::at_each_await(tested, dropped, &destination));
                        table.count_recoveries(dropped.row().name, &tested.name, runs, complaint);
                    }
                });
            }
        });
    }
}

/// All locks with one fault and one driver.
struct FaultTrial {
    fault: &'static Fault,
    place: usize,
    driver: Driver,
    extent: Extent,
}

type Numbered = (usize, &'static TestedLock);

impl FaultTrial {
    fn run(&self, table: &Table) {
        let shared = self.fault.server.is_none().then(Server::start);
        let shared = shared.as_ref();
        let locks: Vec<Numbered> = self.extent.locks().collect();
        let one_of_three = |place: usize| place % 3;
        match self.extent {
            Extent::Quick => {
                let locks: Vec<_> = locks.into_iter().filter(|(place, _)| self.is_quick(*place)).collect();
                self.at_command(&locks, "once", one_of_three, shared, table);
            }
            Extent::Kinds => drop(self.at_command(&locks, "once", one_of_three, shared, table)),
            Extent::All { .. } => {
                let until = self.extent.deadline();
                self.at_command(&locks, "once", one_of_three, shared, table);
                // One lock of each kind first: others whose clients send the same commands may be left out.
                let (first, like_them): (Vec<_>, Vec<_>) =
                    locks.into_iter().partition(|(_, tested)| is_first_of_its_kind(tested));
                self.at_each_command(first, until, shared, table);
                self.at_each_command(like_them, until, shared, table);
            }
        }
    }

    /// Runs all of these locks at one command before any at the next. A lock is finished when the fault no longer strikes
    /// because the client sends no such command.
    fn at_each_command(&self, mut locks: Vec<Numbered>, until: Stamp, shared: Option<&Server>, table: &Table) {
        for command in 0.. {
            if locks.is_empty() || stamp() >= until {
                break;
            }
            let struck = self.at_command(&locks, "each", |_| command, shared, table);
            locks.retain(|(place, _)| struck.contains(place));
        }
        locks.iter().for_each(|(_, tested)| table.leave_out(self.fault.row.name, &tested.name));
    }

    /// Whether the quick half includes this lock in this trial.
    fn is_quick(&self, place: usize) -> bool {
        let turn = self.place + place;
        turn.is_multiple_of(SHARE) && Driver::BOTH[turn / SHARE % 2] == self.driver
    }

    /// Runs each of these locks once. Returns those that the fault struck.
    fn at_command(
        &self,
        locks: &[Numbered],
        pass: &str,
        command: impl Fn(usize) -> usize + Sync,
        shared: Option<&Server>,
        table: &Table,
    ) -> BTreeSet<usize> {
        let (next, struck) = (AtomicUsize::new(0), Mutex::new(BTreeSet::new()));
        thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    while let Some((place, tested)) = locks.get(next.fetch_add(1, Ordering::SeqCst)) {
                        let result = self.run_once(tested, pass, command(*place), shared);
                        if result.is_struck {
                            struck.lock().expect("no thread panics while it holds this").insert(*place);
                        }
                        table.count(self.fault.row.name, &tested.name, result);
                    }
                });
            }
        });
        struck.into_inner().expect("no thread panics while it holds this")
    }

    fn run_once(&self, tested: &TestedLock, pass: &str, command: usize, shared: Option<&Server>) -> RunResult {
        let (fault, driver) = (self.fault, self.driver);
        let key = format!("{{{} {} {driver} {pass} {command}}}", tested.name, fault.row.name);
        let run = FaultRun { tested, driver, row: fault.row, command, key };
        match shared {
            Some(server) => run.run(server, fault),
            None => run.run(&Server::with(&fault.server.map_or_else(Options::new, |options| options())), fault),
        }
    }
}
