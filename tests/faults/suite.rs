//! The trials: each fault through each driver, with every lock of the catalogue.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};

use crate::crowd;
use crate::drivers::{Driver, Way, runtime};
use crate::dropped::{self, Dropped};
use crate::history;
use crate::life::{Life, Lived};
use crate::server::{Options, Server};
use crate::several;
use crate::strikes::{FAULTS, Fault};
use crate::subjects::{Subject, subjects};
use crate::table::Table;
use crate::witness::stamp;

/// How many runs of a trial go on at once: they wait more than they work.
const AT_ONCE: usize = 24;

/// Of how many faults the quick half lets each lock meet one.
const SHARE: usize = 5;

/// How much of it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Every lock meets a share of the faults, each at one command, half of them through either driver.
    Quick,
    /// Every lock meets every fault at every command through both drivers, as far as the time goes.
    All {
        /// How long the faults at one command after the other are played in one trial.
        each: Duration,
    },
}

/// How long all of it takes at most, unless LOCKSHIFT_FAULTS_MINUTES says otherwise.
const MINUTES: u64 = 50;
/// How many trials go on at once.
const TRIALS_AT_ONCE: usize = 2;

impl Extent {
    fn told() -> Self {
        match std::env::var("LOCKSHIFT_FAULTS") {
            Ok(told) if told == "all" => {
                let minutes = std::env::var("LOCKSHIFT_FAULTS_MINUTES");
                let minutes =
                    minutes.map_or(MINUTES, |told| told.parse().expect("LOCKSHIFT_FAULTS_MINUTES is a number"));
                let trials = Driver::BOTH.len() * FAULTS.len();
                let each = Duration::from_secs(minutes * 60) * TRIALS_AT_ONCE as u32 / trials as u32;
                Self::All { each }
            }
            Ok(told) => panic!("LOCKSHIFT_FAULTS is `all` or is not set, but not `{told}`"),
            Err(_) => Self::Quick,
        }
    }
}

/// Runs what the arguments select.
pub(crate) fn run() -> ExitCode {
    history::assert_judges();
    let extent = Extent::told();
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(TRIALS_AT_ONCE));
    let table = Arc::new(Table::default());
    let at_commands = FAULTS.iter().enumerate().flat_map(|(place, fault)| {
        Driver::BOTH.map(|driver| {
            let name = format!("{driver}::{}", fault.row.name.to_lowercase().replace(", ", "_").replace(' ', "_"));
            let table = Arc::clone(&table);
            Trial::test(name, move || Round { fault, place, driver, extent }.play(&table))
        })
    });
    let elsewhere = Driver::BOTH.into_iter().flat_map(|driver| elsewhere(driver, extent, &table));
    let trials = at_commands.chain(elsewhere).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    let is_whole = extent != Extent::Quick && !arguments.list && conclusion.num_filtered_out == 0;
    if is_whole {
        table.write_page();
    }
    conclusion.exit_code()
}

type Play = Box<dyn FnOnce(&Table) -> Result<(), Failed> + Send>;

/// The trials on other ground than one server, through one driver.
fn elsewhere(driver: Driver, extent: Extent, table: &Arc<Table>) -> Vec<Trial> {
    let trial = |name: &str, play: Play| {
        let table = Arc::clone(table);
        Trial::test(format!("{driver}::{name}"), move || play(&table))
    };
    let locks: Vec<&Subject> = match extent {
        Extent::Quick => subjects().iter().skip(usize::from(driver == Driver::Tokio)).step_by(8).collect(),
        Extent::All { .. } => subjects().iter().collect(),
    };
    let (most_commands, waiters) = match extent {
        Extent::Quick => (2, 300),
        Extent::All { .. } => (20, 10_000),
    };
    let mut trials = vec![
        trial("on_a_cluster", Box::new(move |table| several::on_a_cluster(&locks, driver, table))),
        trial("on_three_masters", Box::new(move |table| several::on_three_masters(driver, most_commands, table))),
    ];
    if driver == Driver::Tokio {
        for dropped in Dropped::ALL {
            let name = format!("{dropped:?}_dropped_at_each_await").to_lowercase();
            trials.push(trial(&name, Box::new(move |_| dropped_at_each_await(dropped, extent))));
        }
        trials.push(trial("each_of_many_gets_it", Box::new(move |_| crowd::each_of_many_gets_it(waiters))));
    }
    trials
}

/// Futures of all locks, or of a share of them, are dropped. Nothing could be seen of locks whose release frees nothing, or
/// not after another client has tried in vain.
fn dropped_at_each_await(dropped: Dropped, extent: Extent) -> Result<(), Failed> {
    let share = if extent == Extent::Quick { SHARE } else { 1 };
    let server = Server::start();
    let way = Way::to(&[server.url()]);
    let locks = subjects().iter().skip(dropped as usize).step_by(share);
    let can_tell = |subject: &&Subject| {
        let nature = subject.nature();
        !(nature.never_frees || nature.is_spoilt_by_losers && dropped == Dropped::Wait)
    };
    let locks: Vec<_> = locks.filter(can_tell).collect();
    let (next, complaints) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(subject) = locks.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let played = runtime().block_on(dropped::at_each_await(subject, dropped, &way));
                    complaints.lock().expect("nobody panics with it").extend(played.err());
                }
            });
        }
    });
    let complaints = complaints.into_inner().expect("nobody panics with it");
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n").into()) }
}

/// Every lock under one fault, through one driver.
struct Round {
    fault: &'static Fault,
    place: usize,
    driver: Driver,
    extent: Extent,
}

impl Round {
    fn play(&self, table: &Table) -> Result<(), Failed> {
        let shared = self.fault.server.is_none().then(Server::start);
        let mut locks: Vec<_> = subjects().iter().enumerate().collect();
        let mut complaints = Vec::new();
        let began = stamp();
        match self.extent {
            Extent::Quick => {
                locks.retain(|(place, _)| self.is_quick(*place));
                self.at_command(&locks, |place| place % 3, shared.as_ref(), table, &mut complaints);
            }
            // All locks at one command before any at the next, so that a short time leaves out only late commands. The
            // last run of a lock is one that the fault does not strike any more.
            Extent::All { each } => {
                for command in 0.. {
                    if locks.is_empty() || command > 0 && stamp() - began > each {
                        break;
                    }
                    let struck = self.at_command(&locks, |_| command, shared.as_ref(), table, &mut complaints);
                    locks.retain(|(place, _)| struck.contains(place));
                }
                locks.iter().for_each(|(_, subject)| table.leave_out(self.fault.row.name, &subject.name));
            }
        }
        if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n").into()) }
    }

    /// Whether the quick half plays this lock here.
    fn is_quick(&self, place: usize) -> bool {
        let turn = self.place + place;
        turn.is_multiple_of(SHARE) && Driver::BOTH[turn / SHARE % 2] == self.driver
    }

    /// A run of each of these locks: those that the fault has struck.
    fn at_command(
        &self,
        locks: &[(usize, &'static Subject)],
        command: impl Fn(usize) -> usize + Sync,
        shared: Option<&Server>,
        table: &Table,
        complaints: &mut Vec<String>,
    ) -> BTreeSet<usize> {
        let (next, lived) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    while let Some((place, subject)) = locks.get(next.fetch_add(1, Ordering::SeqCst)) {
                        let life = self.life(subject, command(*place), shared);
                        table.count(self.fault.row.name, &subject.name, &life.shown);
                        lived.lock().expect("nobody panics with it").push((*place, life));
                    }
                });
            }
        });
        let lived = lived.into_inner().expect("nobody panics with it");
        let struck = lived.iter().filter(|(_, life)| life.is_struck).map(|(place, _)| *place).collect();
        complaints.extend(lived.into_iter().filter_map(|(_, life)| life.complaint));
        struck
    }

    fn life(&self, subject: &Subject, command: usize, shared: Option<&Server>) -> Lived {
        let (fault, driver) = (self.fault, self.driver);
        let key = format!("{{{} {} {driver} {command}}}", subject.name, fault.row.name);
        let life = Life { subject, driver, row: fault.row, command, key };
        match shared {
            Some(server) => life.play(server, fault),
            None => life.play(&Server::with(&fault.server.map_or_else(Options::new, |options| options())), fault),
        }
    }
}
