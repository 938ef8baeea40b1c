//! Runs on several servers: on a cluster whose masters stop or are replaced, behind Sentinel, which replaces a master, and
//! on independent masters, one of which the fault strikes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::client::Stay;
use crate::drivers::{Destination, Driver};
use crate::faults::FAULTS;
use crate::patience::pause;
use crate::promise::{Damage, FaultRow};
use crate::proxy::Proxy;
use crate::run::{Environment, FaultRun, RunResult};
use crate::server::{Cluster, Options, Server, Watched};
use crate::table::Table;
use crate::tested_locks::{TestedLock, redlock};
use crate::witness::{Stamp, stamp};

/// Longer than a client waits for a reply, and shorter than its remaining lease.
const STANDSTILL: Duration = Duration::from_millis(350);
/// How long a master that is being replaced may delay a command.
const HANDOVER: Duration = Duration::from_secs(2);
/// How many locks are under test during one failover.
const TOGETHER: usize = 24;

const MASTERS_STAND_STILL: FaultRow =
    FaultRow { delay: STANDSTILL, ..FaultRow::new("cluster: masters stand still at the release", Damage::Nothing) };
const REPLICAS_TAKE_OVER: FaultRow =
    FaultRow { delay: HANDOVER, ..FaultRow::new("cluster: masters hand over to their replicas", Damage::Nothing) };
const MASTER_REPLACED: FaultRow = FaultRow {
    delay: HANDOVER,
    stay: Stay::Fixed,
    ..FaultRow::new("cluster: a master stands still until its replica replaces it", Damage::StoredData)
};
const PROMOTED: FaultRow =
    FaultRow { delay: HANDOVER, ..FaultRow::new("Sentinel: a replica is promoted by command", Damage::StoredData) };
const PROMOTED_FOR_A_DEAD_MASTER: FaultRow = FaultRow {
    delay: HANDOVER,
    ..FaultRow::new("Sentinel: the master stands still until its replica replaces it", Damage::StoredData)
};

/// The faults of a cluster.
pub(crate) const OF_CLUSTER: [FaultRow; 3] = [MASTERS_STAND_STILL, REPLICAS_TAKE_OVER, MASTER_REPLACED];
/// The faults of a master behind Sentinel.
pub(crate) const OF_SENTINEL: [FaultRow; 2] = [PROMOTED, PROMOTED_FOR_A_DEAD_MASTER];

/// Runs each of these locks on a cluster under its faults. Locks that do not begin before `until` are left out.
pub(crate) fn on_a_cluster(locks: &[&'static TestedLock], driver: Driver, until: Stamp, table: &Table) {
    // A cluster connection reaches all masters and is shared, so a lock cannot have one of its own.
    let locks: Vec<_> = locks.iter().copied().filter(|tested| !tested.locker("k").needs_own_connection()).collect();
    for locks in locks.chunks(TOGETHER) {
        if stamp() < until {
            on_one_cluster(locks, driver, table);
        } else {
            let rows = OF_CLUSTER.iter().flat_map(|row| locks.iter().map(move |lock| (row, lock)));
            rows.for_each(|(row, lock)| table.leave_out(row.name, &lock.name));
        }
    }
}

fn on_one_cluster(locks: &[&'static TestedLock], driver: Driver, table: &Table) {
    let cluster = Cluster::with_replicas();
    let destination = Destination::to(&cluster.masters().each_ref().map(Server::url));
    let stand_still = || {
        cluster.masters().iter().for_each(Server::pause);
        pause(STANDSTILL);
        cluster.masters().iter().for_each(Server::resume);
    };
    let key_of = |tested: &TestedLock, row: &FaultRow, number: u32| {
        format!("{{{} {driver} {} {number}}}", tested.name, row.name)
    };
    let key_of_first = |tested: &TestedLock, row: &FaultRow| {
        let keys = (0..).map(|number| key_of(tested, row, number));
        keys.take(1000).find(|key| cluster.is_of_first(key)).expect("every third key is")
    };
    for row in OF_CLUSTER {
        let is_of_one = row.name == MASTER_REPLACED.name;
        let key = |lock: &TestedLock| if is_of_one { key_of_first(lock, &row) } else { key_of(lock, &row, 0) };
        let strike = || match row.name {
            name if name == MASTERS_STAND_STILL.name => stand_still(),
            name if name == REPLICAS_TAKE_OVER.name => cluster.hand_over(),
            _ => cluster.replace_first(),
        };
        Batch { row, driver, destination: &destination, key: &key, strike: &strike }.run(locks, table);
    }
}

/// Runs each of these locks behind Sentinel under its faults. Locks that do not begin before `until` are left out.
pub(crate) fn behind_a_sentinel(locks: &[&'static TestedLock], driver: Driver, until: Stamp, table: &Table) {
    for locks in locks.chunks(TOGETHER) {
        for row in OF_SENTINEL {
            if stamp() >= until {
                locks.iter().for_each(|lock| table.leave_out(row.name, &lock.name));
                continue;
            }
            let watched = Watched::start();
            let destination = Destination::to(&[watched.address()]);
            let strike = || {
                if row.name == PROMOTED.name {
                    watched.fail_over();
                } else {
                    watched.replace();
                }
            };
            let key = |tested: &TestedLock| format!("{{{}}}", tested.name);
            Batch { row, driver, destination: &destination, key: &key, strike: &strike }.run(locks, table);
        }
    }
}

/// Locks that one fault strikes at the same time, when the first of them is about to be released.
struct Batch<'a> {
    row: FaultRow,
    driver: Driver,
    destination: &'a Destination,
    key: &'a (dyn Fn(&TestedLock) -> String + Sync),
    strike: &'a (dyn Fn() + Sync),
}

impl Batch<'_> {
    fn run(&self, locks: &[&TestedLock], table: &Table) {
        let (is_struck, struck_at) = (AtomicBool::new(false), Mutex::new(None));
        thread::scope(|scope| {
            let (is_struck, struck_at) = (&is_struck, &struck_at);
            for tested in locks {
                scope.spawn(move || {
                    let strikes = || {
                        if !is_struck.swap(true, Ordering::SeqCst) {
                            *struck_at.lock().expect("no thread panics while it holds this") = Some(stamp());
                            scope.spawn(|| (self.strike)());
                        }
                    };
                    let environment = Environment {
                        struck: self.destination.clone(),
                        others: self.destination.clone(),
                        before_release: &strikes,
                        heal: &|| (),
                        process: None,
                        struck_at: &|| *struck_at.lock().expect("no thread panics while it holds this"),
                    };
                    let (driver, row, key) = (self.driver, self.row, (self.key)(tested));
                    let result = FaultRun { tested, driver, row, command: 0, key }.run_in(&environment);
                    table.count(self.row.name, &tested.name, result);
                });
            }
        });
    }
}

/// Runs Redlock on three masters: each fault strikes one of them, at each of its commands up to `most_commands`.
pub(crate) fn on_three_masters(driver: Driver, most_commands: usize, until: Stamp, table: &Table) {
    // With the options that any of the faults needs.
    let options = || Options::new().line("enable-debug-command yes").line("appendonly yes").line("appendfsync always");
    let masters = [(); 3].map(|()| Server::with(&options()));
    let direct = masters.each_ref().map(Server::client);
    let tested = redlock(masters.len());
    for fault in FAULTS.iter().filter(|fault| !fault.strikes_process) {
        for command in 0..most_commands {
            if stamp() >= until {
                table.leave_out(fault.row.name, &tested.name);
                break;
            }
            let struck = |proxy: &Proxy| {
                let [_, second, third] = direct.clone();
                Destination::Masters(vec![proxy.client(), second, third])
            };
            let key = format!("{} {driver} {command}", fault.row.name);
            let run = FaultRun { tested: &tested, driver, row: fault.row, command, key };
            let result: RunResult = run.run_through(&masters[0], fault, struck, Destination::Masters(direct.to_vec()));
            let is_struck = result.is_struck;
            table.count(fault.row.name, &tested.name, result);
            if !is_struck {
                break;
            }
        }
    }
}
