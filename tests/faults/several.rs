//! Locks on more than one server: on a cluster whose masters stand still or are replaced, behind sentinels that replace a
//! master, and on independent masters, one of which the fault strikes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::client::Stay;
use crate::drivers::{Driver, Way};
use crate::life::{Ground, Life, Lived};
use crate::patience::pause;
use crate::promise::{Harm, Row};
use crate::proxy::Proxy;
use crate::server::{Cluster, Options, Server, Watched};
use crate::strikes::FAULTS;
use crate::subjects::{Subject, redlock};
use crate::table::Table;
use crate::witness::{Stamp, stamp};

/// Longer than a client waits for its reply, and shorter than what is left of its lease.
const STANDSTILL: Duration = Duration::from_millis(350);
/// For how long a master that is being replaced may keep a command back.
const HANDOVER: Duration = Duration::from_secs(2);
/// How many locks meet one failover together.
const TOGETHER: usize = 24;

const MASTERS_STAND_STILL: Row =
    Row { delay: STANDSTILL, ..Row::new("cluster: masters stand still at the release", Harm::None) };
const REPLICAS_TAKE_OVER: Row =
    Row { delay: HANDOVER, ..Row::new("cluster: masters hand over to their replicas", Harm::None) };
const MASTER_REPLACED: Row = Row {
    delay: HANDOVER,
    stay: Stay::Fixed,
    ..Row::new("cluster: a master stands still until its replica replaces it", Harm::State)
};
const PROMOTED: Row = Row { delay: HANDOVER, ..Row::new("Sentinel: a replica is promoted by command", Harm::State) };
const PROMOTED_FOR_A_DEAD_MASTER: Row =
    Row { delay: HANDOVER, ..Row::new("Sentinel: the master stands still until its replica replaces it", Harm::State) };

/// The faults of a cluster.
pub(crate) const OF_CLUSTER: [Row; 3] = [MASTERS_STAND_STILL, REPLICAS_TAKE_OVER, MASTER_REPLACED];
/// The faults of a master that sentinels name.
pub(crate) const OF_SENTINEL: [Row; 2] = [PROMOTED, PROMOTED_FOR_A_DEAD_MASTER];

/// Each of these locks on a cluster, under the faults of a cluster, until that moment.
pub(crate) fn on_a_cluster(locks: &[&'static Subject], driver: Driver, until: Stamp, table: &Table) {
    // One connection leads to all masters, and that is shared.
    let locks: Vec<_> = locks.iter().copied().filter(|subject| !subject.locker("k").needs_own_connection()).collect();
    for locks in locks.chunks(TOGETHER) {
        if stamp() < until {
            on_one_cluster(locks, driver, table);
        } else {
            let rows = OF_CLUSTER.iter().flat_map(|row| locks.iter().map(move |lock| (row, lock)));
            rows.for_each(|(row, lock)| table.leave_out(row.name, &lock.name));
        }
    }
}

fn on_one_cluster(locks: &[&'static Subject], driver: Driver, table: &Table) {
    let cluster = Cluster::with_replicas();
    let way = Way::to(&cluster.masters().each_ref().map(Server::url));
    let stand_still = || {
        cluster.masters().iter().for_each(Server::pause);
        pause(STANDSTILL);
        cluster.masters().iter().for_each(Server::resume);
    };
    let key_of =
        |subject: &Subject, row: &Row, number: u32| format!("{{{} {driver} {} {number}}}", subject.name, row.name);
    let key_of_first = |subject: &Subject, row: &Row| {
        let keys = (0..).map(|number| key_of(subject, row, number));
        keys.take(1000).find(|key| cluster.is_of_first(key)).expect("every third key is")
    };
    for row in OF_CLUSTER {
        let is_of_one = row.name == MASTER_REPLACED.name;
        let key = |lock: &Subject| if is_of_one { key_of_first(lock, &row) } else { key_of(lock, &row, 0) };
        let strike = || match row.name {
            name if name == MASTERS_STAND_STILL.name => stand_still(),
            name if name == REPLICAS_TAKE_OVER.name => cluster.hand_over(),
            _ => cluster.replace_first(),
        };
        Batch { row, driver, way: &way, key: &key, strike: &strike }.play(locks, table);
    }
}

/// Each of these locks on a master that a sentinel names, under the faults of such a master, until that moment.
pub(crate) fn behind_a_sentinel(locks: &[&'static Subject], driver: Driver, until: Stamp, table: &Table) {
    for locks in locks.chunks(TOGETHER) {
        for row in OF_SENTINEL {
            if stamp() >= until {
                locks.iter().for_each(|lock| table.leave_out(row.name, &lock.name));
                continue;
            }
            let watched = Watched::start();
            let way = Way::to(&[watched.address()]);
            let strike = || {
                if row.name == PROMOTED.name {
                    watched.fail_over();
                } else {
                    watched.replace();
                }
            };
            let key = |subject: &Subject| format!("{{{}}}", subject.name);
            Batch { row, driver, way: &way, key: &key, strike: &strike }.play(locks, table);
        }
    }
}

/// Locks that one fault strikes together, when the first of them is about to be released.
struct Batch<'a> {
    row: Row,
    driver: Driver,
    way: &'a Way,
    key: &'a (dyn Fn(&Subject) -> String + Sync),
    strike: &'a (dyn Fn() + Sync),
}

impl Batch<'_> {
    fn play(&self, locks: &[&Subject], table: &Table) {
        let (is_struck, struck_at) = (AtomicBool::new(false), Mutex::new(None));
        thread::scope(|scope| {
            let (is_struck, struck_at) = (&is_struck, &struck_at);
            for subject in locks {
                scope.spawn(move || {
                    let strikes = || {
                        if !is_struck.swap(true, Ordering::SeqCst) {
                            *struck_at.lock().expect("no thread panics while it holds this") = Some(stamp());
                            scope.spawn(|| (self.strike)());
                        }
                    };
                    let ground = Ground {
                        struck: self.way.clone(),
                        others: self.way.clone(),
                        before_release: &strikes,
                        heal: &|| (),
                        process: None,
                        struck_at: &|| *struck_at.lock().expect("no thread panics while it holds this"),
                    };
                    let (driver, row, key) = (self.driver, self.row, (self.key)(subject));
                    let lived = Life { subject, driver, row, command: 0, key }.play_on(&ground);
                    table.count(self.row.name, &subject.name, lived);
                });
            }
        });
    }
}

/// Redlock on three masters: each fault strikes one of them, at each command that it is sent, up to this many.
pub(crate) fn on_three_masters(driver: Driver, most_commands: usize, until: Stamp, table: &Table) {
    // So that each fault can strike any of them.
    let options = || Options::new().line("enable-debug-command yes").line("appendonly yes").line("appendfsync always");
    let masters = [(); 3].map(|()| Server::with(&options()));
    let direct = masters.each_ref().map(Server::client);
    let subject = redlock(masters.len());
    for fault in FAULTS.iter().filter(|fault| !fault.strikes_process) {
        for command in 0..most_commands {
            if stamp() >= until {
                table.leave_out(fault.row.name, &subject.name);
                break;
            }
            let struck = |proxy: &Proxy| {
                let [_, second, third] = direct.clone();
                Way::Masters(vec![proxy.client(), second, third])
            };
            let key = format!("{} {driver} {command}", fault.row.name);
            let life = Life { subject: &subject, driver, row: fault.row, command, key };
            let lived: Lived = life.play_through(&masters[0], fault, struck, Way::Masters(direct.to_vec()));
            let is_struck = lived.is_struck;
            table.count(fault.row.name, &subject.name, lived);
            if !is_struck {
                break;
            }
        }
    }
}
