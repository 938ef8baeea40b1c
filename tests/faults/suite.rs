//! The trials: each fault through each driver, with every lock of the catalogue.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};

use crate::crowd::{self, CROWD};
use crate::drivers::{Driver, Way, runtime};
use crate::dropped::{self, Dropped};
use crate::life::{Life, Lived};
use crate::promise::Row;
use crate::server::{Options, Server};
use crate::several::{self, OF_CLUSTER, OF_SENTINEL};
use crate::strikes::{FAULTS, Fault};
use crate::subjects::{Subject, is_first_of_its_kind, subjects};
use crate::table::Table;
use crate::witness::{Stamp, stamp};
use crate::woken::{self, WOKEN_AND_CUT_OFF};
use crate::{bugs, history, page};

/// How many runs of a trial go on at once: they wait more than they work.
const AT_ONCE: usize = 24;

/// Of how many faults the quick half lets each lock meet one.
const SHARE: usize = 5;

/// How much of it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Every lock meets a share of the faults, each at one command, half of them through either driver.
    Quick,
    /// One lock of each kind meets every fault through both drivers, each at one command.
    Kinds,
    /// Every lock meets every fault through both drivers: at one command, then at each command, as far as the time goes.
    All {
        /// How long one trial goes on.
        each: Duration,
    },
}

/// How long all of it takes at most, unless LOCKSHIFT_FAULTS_MINUTES says otherwise. The last runs of a trial are begun
/// before its time has ended, and some must be played whole.
const MINUTES: u64 = 45;
/// How many trials go on at once.
const TRIALS_AT_ONCE: usize = 3;

impl Extent {
    fn asked_for() -> Self {
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

    /// What it is, on the page.
    const fn described(self) -> &'static str {
        match self {
            Self::Quick => "the quick half",
            Self::Kinds => "one lock of each kind, each fault at one of its commands (`LOCKSHIFT_FAULTS=kinds`)",
            Self::All { .. } => "all locks, each fault at one of their commands, then at each (`LOCKSHIFT_FAULTS=all`)",
        }
    }

    /// The locks that it plays where it plays no share of them.
    fn locks(self) -> impl Iterator<Item = Numbered> {
        let is_played = move |(_, subject): &Numbered| self != Self::Kinds || is_first_of_its_kind(subject);
        subjects().iter().enumerate().filter(is_played)
    }

    /// When a trial that begins now ends.
    fn until(self) -> Stamp {
        match self {
            Self::Quick | Self::Kinds => Stamp::MAX,
            Self::All { each } => stamp() + each,
        }
    }
}

/// How many trials there are through either driver that play elsewhere than on one server.
const ELSEWHERE: usize = 5;

/// All rows of the table, in its order.
pub(crate) fn rows() -> Vec<Row> {
    let dropped = Dropped::ALL.map(Dropped::row);
    let elsewhere = OF_CLUSTER.into_iter().chain(OF_SENTINEL).chain([WOKEN_AND_CUT_OFF]).chain(dropped);
    FAULTS.iter().map(|fault| fault.row).chain(elsewhere).chain([CROWD]).collect()
}

/// Runs what the arguments select.
pub(crate) fn run() -> ExitCode {
    let extent = Extent::asked_for();
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(TRIALS_AT_ONCE));
    let all: Vec<(String, Play)> = Driver::BOTH
        .into_iter()
        .flat_map(|driver| at_commands(driver, extent).chain(elsewhere(driver, extent)))
        .collect();
    let names: Vec<String> = all.iter().map(|(name, _)| name.clone()).collect();
    // The longest first: the others fill the gaps.
    let trials = all.into_iter().rev().map(|(name, play)| {
        let trial = name.clone();
        Trial::test(name, move || observed(&trial, extent, play))
    });
    let judges = [
        Trial::test("judge::histories_that_no_lock_can_have_are_found", || {
            history::assert_judges();
            Ok(())
        }),
        Trial::test("judge::a_lock_that_keeps_everything_is_known_as_such", || {
            let keeps_all = |name: &&str| {
                let nature = subjects().iter().find(|subject| subject.name == *name).expect("it is listed").nature();
                !(nature.admits_two || nature.ends_early || nature.never_frees || nature.is_spoilt_by_losers)
                    && nature.frees_after.is_some()
            };
            let leaky: Vec<_> = ["token", "token-fenced", "reentrant", "fair", "redisson"]
                .into_iter()
                .filter(|name| !keeps_all(name))
                .collect();
            if leaky.is_empty() { Ok(()) } else { Err(format!("judged by less than they keep: {leaky:?}").into()) }
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

type Play = Box<dyn FnOnce(&Table) + Send>;

/// Plays a trial, and keeps what it has shown if all of the suite is asked for.
fn observed(trial: &str, extent: Extent, play: Play) -> Result<(), Failed> {
    let (table, began) = (Table::default(), stamp());
    play(&table);
    if extent != Extent::Quick {
        table.save(trial, &page::head(extent.described(), stamp() - began));
    }
    let complaints = table.complaints();
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n").into()) }
}

/// The trials with faults that strike at a command to one server, through one driver.
fn at_commands(driver: Driver, extent: Extent) -> impl Iterator<Item = (String, Play)> {
    FAULTS.iter().enumerate().map(move |(place, fault)| {
        let name = format!("{driver}::{}", fault.row.name.to_lowercase().replace(", ", "_").replace(' ', "_"));
        let play: Play = Box::new(move |table| Round { fault, place, driver, extent }.play(table));
        (name, play)
    })
}

/// The trials on other ground than one server, through one driver.
fn elsewhere(driver: Driver, extent: Extent) -> impl Iterator<Item = (String, Play)> {
    let locks: Vec<&'static Subject> = match extent {
        Extent::Quick => subjects().iter().skip(usize::from(driver == Driver::Tokio)).step_by(8).collect(),
        Extent::Kinds | Extent::All { .. } => extent.locks().map(|(_, subject)| subject).collect(),
    };
    let (most_commands, waiters, times) = match extent {
        Extent::Quick => (2, 300, 2),
        Extent::Kinds => (2, 10_000, 10),
        Extent::All { .. } => (20, 10_000, 50),
    };
    let on_master = locks.clone();
    let mut trials: Vec<(&str, Play)> = vec![
        ("on_a_cluster", Box::new(move |table| several::on_a_cluster(&locks, driver, extent.until(), table))),
        (
            "behind_a_sentinel",
            Box::new(move |table| several::behind_a_sentinel(&on_master, driver, extent.until(), table)),
        ),
        (
            "on_three_masters",
            Box::new(move |table| several::on_three_masters(driver, most_commands, extent.until(), table)),
        ),
        ("woken_and_cut_off", Box::new(move |table| woken::is_cut_off(driver, times, table))),
    ];
    if driver == Driver::Tokio {
        trials.push(("futures_dropped_at_each_await", Box::new(move |table| dropped_at_each_await(extent, table))));
        trials.push(("each_of_many_gets_it", Box::new(move |table| crowd::each_of_many_gets_it(waiters, table))));
    }
    trials.into_iter().map(move |(name, play)| (format!("{driver}::{name}"), play))
}

/// Futures of all locks, or of a share of them, are dropped. Nothing could be seen of locks whose release frees nothing, or
/// not after another client has tried in vain.
fn dropped_at_each_await(extent: Extent, table: &Table) {
    let share = if extent == Extent::Quick { SHARE } else { 1 };
    let server = Server::start();
    let way = Way::to(&[server.url()]);
    for dropped in Dropped::ALL {
        let locks = extent.locks().map(|(_, subject)| subject).skip(dropped as usize).step_by(share);
        let can_tell = |subject: &&'static Subject| {
            let nature = subject.nature();
            !(nature.never_frees || nature.is_spoilt_by_losers && dropped == Dropped::Wait)
        };
        let locks: Vec<_> = locks.filter(can_tell).collect();
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    while let Some(subject) = locks.get(next.fetch_add(1, Ordering::SeqCst)) {
                        let (runs, complaint) = runtime().block_on(dropped::at_each_await(subject, dropped, &way));
                        table.count_recoveries(dropped.row().name, &subject.name, runs, complaint);
                    }
                });
            }
        });
    }
}

/// Every lock under one fault, through one driver.
struct Round {
    fault: &'static Fault,
    place: usize,
    driver: Driver,
    extent: Extent,
}

type Numbered = (usize, &'static Subject);

impl Round {
    fn play(&self, table: &Table) {
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
                let until = self.extent.until();
                self.at_command(&locks, "once", one_of_three, shared, table);
                // Locks that differ first: of those whose clients send the same commands, all but one may be left out.
                let (first, like_them): (Vec<_>, Vec<_>) =
                    locks.into_iter().partition(|(_, subject)| is_first_of_its_kind(subject));
                self.at_each_command(first, until, shared, table);
                self.at_each_command(like_them, until, shared, table);
            }
        }
    }

    /// All of these locks at one command before any at the next. The last run of a lock is one that the fault does not
    /// strike any more.
    fn at_each_command(&self, mut locks: Vec<Numbered>, until: Stamp, shared: Option<&Server>, table: &Table) {
        for command in 0.. {
            if locks.is_empty() || stamp() >= until {
                break;
            }
            let struck = self.at_command(&locks, "each", |_| command, shared, table);
            locks.retain(|(place, _)| struck.contains(place));
        }
        locks.iter().for_each(|(_, subject)| table.leave_out(self.fault.row.name, &subject.name));
    }

    /// Whether the quick half plays this lock here.
    fn is_quick(&self, place: usize) -> bool {
        let turn = self.place + place;
        turn.is_multiple_of(SHARE) && Driver::BOTH[turn / SHARE % 2] == self.driver
    }

    /// A run of each of these locks: those that the fault has struck.
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
                    while let Some((place, subject)) = locks.get(next.fetch_add(1, Ordering::SeqCst)) {
                        let lived = self.life(subject, pass, command(*place), shared);
                        if lived.is_struck {
                            struck.lock().expect("no thread panics while it holds this").insert(*place);
                        }
                        table.count(self.fault.row.name, &subject.name, lived);
                    }
                });
            }
        });
        struck.into_inner().expect("no thread panics while it holds this")
    }

    fn life(&self, subject: &Subject, pass: &str, command: usize, shared: Option<&Server>) -> Lived {
        let (fault, driver) = (self.fault, self.driver);
        let key = format!("{{{} {} {driver} {pass} {command}}}", subject.name, fault.row.name);
        let life = Life { subject, driver, row: fault.row, command, key };
        match shared {
            Some(server) => life.play(server, fault),
            None => life.play(&Server::with(&fault.server.map_or_else(Options::new, |options| options())), fault),
        }
    }
}
