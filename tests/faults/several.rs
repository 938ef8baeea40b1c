//! Locks on more than one server: on a cluster, one of whose masters stands still while a release is under way, and on
//! independent masters, one of which the fault strikes.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use libtest_mimic::Failed;

use crate::client::Stay;
use crate::drivers::{Driver, Way};
use crate::life::{Ground, Life, Lived};
use crate::patience::pause;
use crate::promise::{Harm, Row};
use crate::server::{Cluster, Server};
use crate::strikes::FAULTS;
use crate::subjects::{Subject, redlock};
use crate::table::Table;
use crate::witness::stamp;

/// Longer than a client waits for its reply, and shorter than what is left of its lease.
const STANDSTILL: Duration = Duration::from_millis(350);

const MASTER_STANDS_STILL: Row =
    Row { name: "cluster: master stands still at the release", harm: Harm::None, delay: STANDSTILL, stay: Stay::Told };

/// These locks on one cluster, one after another: while its client releases, every master stands still for longer than
/// the client waits for its reply.
pub(crate) fn on_a_cluster(locks: &[&Subject], driver: Driver, table: &Table) -> Result<(), Failed> {
    let cluster = Cluster::start();
    let way = Way::to(&cluster.masters().each_ref().map(Server::url));
    let mut complaints = Vec::new();
    // One connection leads to all masters, and that is shared.
    for subject in locks.iter().filter(|subject| !subject.locker("k").needs_own_connection()) {
        let struck_at = Mutex::new(None);
        let stands_still = || {
            *struck_at.lock().expect("nobody panics with it") = Some(stamp());
            cluster.masters().iter().for_each(Server::pause);
        };
        let lived = thread::scope(|scope| {
            let stand_still = || {
                stands_still();
                scope.spawn(|| {
                    pause(STANDSTILL);
                    cluster.masters().iter().for_each(Server::resume);
                });
            };
            let ground = Ground {
                struck: way.clone(),
                others: way.clone(),
                before_release: &stand_still,
                heal: &|| (),
                process: None,
                struck_at: &|| *struck_at.lock().expect("nobody panics with it"),
            };
            let key = format!("{{{} {driver}}}", subject.name);
            Life { subject, driver, row: MASTER_STANDS_STILL, command: 0, key }.play_on(&ground)
        });
        table.count(MASTER_STANDS_STILL.name, &subject.name, &lived.shown);
        complaints.extend(lived.complaint);
    }
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n").into()) }
}

/// Redlock on three masters: each fault of the wire strikes at the commands to one of them.
pub(crate) fn on_three_masters(driver: Driver, most_commands: usize, table: &Table) -> Result<(), Failed> {
    let masters = [Server::start(), Server::start(), Server::start()];
    let direct = masters.each_ref().map(Server::client);
    let subject = redlock(masters.len());
    let mut complaints = Vec::new();
    for fault in FAULTS.iter().filter(|fault| fault.server.is_none() && !fault.strikes_process) {
        for command in 0..most_commands {
            let struck = |proxy: &crate::proxy::Proxy| {
                let [_, second, third] = direct.clone();
                Way::Masters(vec![proxy.client(), second, third])
            };
            let key = format!("{} {driver} {command}", fault.row.name);
            let life = Life { subject: &subject, driver, row: fault.row, command, key };
            let Lived { is_struck, shown, complaint } =
                life.play_through(&masters[0], fault, struck, Way::Masters(direct.to_vec()));
            table.count(fault.row.name, &subject.name, &shown);
            complaints.extend(complaint);
            if !is_struck {
                break;
            }
        }
    }
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n").into()) }
}
