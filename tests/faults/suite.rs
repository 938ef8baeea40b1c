//! The trials: each fault through each driver, with every lock of the catalogue.

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use libtest_mimic::{Arguments, Failed, Trial};

use crate::crowd;
use crate::drivers::Driver;
use crate::history;
use crate::life::{Life, Lived};
use crate::server::{Options, Server};
use crate::several;
use crate::strikes::{FAULTS, Fault};
use crate::subjects::{Subject, subjects};
use crate::table::Table;

/// How many runs of a trial go on at once: they wait more than they work.
const AT_ONCE: usize = 24;

/// Of how many faults the quick half lets each lock meet one.
const SHARE: usize = 5;

/// How much of it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Every lock meets a share of the faults, each at one command, half of them through either driver.
    Quick,
    /// Every lock meets every fault at every command through both drivers.
    All,
}

impl Extent {
    fn told() -> Self {
        match std::env::var("LOCKSHIFT_FAULTS") {
            Ok(told) if told == "all" => Self::All,
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
    arguments.test_threads = arguments.test_threads.or(Some(2));
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
    if extent == Extent::All && !conclusion.has_failed() && !arguments.list && conclusion.num_filtered_out == 0 {
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
        Extent::All => subjects().iter().collect(),
    };
    let (most_commands, waiters) = match extent {
        Extent::Quick => (2, 300),
        Extent::All => (20, 10_000),
    };
    let mut trials = vec![
        trial("on_a_cluster", Box::new(move |table| several::on_a_cluster(&locks, driver, table))),
        trial("on_three_masters", Box::new(move |table| several::on_three_masters(driver, most_commands, table))),
    ];
    if driver == Driver::Tokio {
        trials.push(trial("each_of_many_gets_it", Box::new(move |_| crowd::each_of_many_gets_it(waiters))));
    }
    trials
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
        let locks: Vec<_> = subjects().iter().enumerate().collect();
        let (next, complaints) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    while let Some((place, subject)) = locks.get(next.fetch_add(1, Ordering::SeqCst)) {
                        for lived in self.lives(*place, subject, shared.as_ref()) {
                            table.count(self.fault.row.name, &subject.name, &lived.shown);
                            complaints.lock().expect("nobody panics with it").extend(lived.complaint);
                        }
                    }
                });
            }
        });
        let complaints = complaints.into_inner().expect("nobody panics with it");
        if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n").into()) }
    }

    /// This lock's runs. The last is one that the fault does not strike any more.
    fn lives(&self, place: usize, subject: &Subject, shared: Option<&Server>) -> Vec<Lived> {
        let turn = self.place + place;
        match self.extent {
            Extent::Quick => {
                let driver = Driver::BOTH[turn / SHARE % 2];
                let is_mine = turn.is_multiple_of(SHARE) && driver == self.driver;
                is_mine.then(|| self.life(subject, place % 3, shared)).into_iter().collect()
            }
            Extent::All => {
                let mut lives = Vec::new();
                while lives.last().is_none_or(|lived: &Lived| lived.is_struck) {
                    lives.push(self.life(subject, lives.len(), shared));
                }
                lives
            }
        }
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
