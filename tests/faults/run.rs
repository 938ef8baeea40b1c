//! One run: a client acquires, holds and releases, and the fault strikes at one of its commands. Two other clients compete
//! for the lock over connections that the fault does not touch.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use lockshift::driver::Wait;
use lockshift::lock::Locker;

use crate::child::{self, Handle, Task};
use crate::client::{Client, Stay};
use crate::drivers::{Destination, Driver};
use crate::faults::{Fault, Target};
use crate::judge::{FinalState, Observations, broken_promises, observations};
use crate::patience::{now, pause};
use crate::promise::{FaultRow, promise};
use crate::proxy::{MessageFault, Proxy};
use crate::server::Server;
use crate::tested_locks::TestedLock;
use crate::witness::{Event, Log, Outcome, Stamp, Witness, stamp};

/// One run.
pub(crate) struct FaultRun<'a> {
    pub(crate) tested: &'a TestedLock,
    pub(crate) driver: Driver,
    pub(crate) row: FaultRow,
    /// The index of the client's command at which the fault strikes, if it strikes at a command.
    pub(crate) command: usize,
    pub(crate) key: String,
}

/// The servers of a run and how the fault reaches them.
pub(crate) struct Environment<'a> {
    /// Where the struck client connects to.
    pub(crate) struck: Destination,
    /// Where the other clients connect to.
    pub(crate) others: Destination,
    /// Called by the struck client before it releases; if it is another process, when it holds the lock.
    pub(crate) before_release: &'a (dyn Fn() + Sync),
    /// Ends the fault.
    pub(crate) heal: &'a (dyn Fn() + Sync),
    /// The address for the struck client, if it is a process of its own.
    pub(crate) process: Option<(&'a str, &'a Handle)>,
    /// When the fault struck; `None`: it has not.
    pub(crate) struck_at: &'a (dyn Fn() -> Option<Stamp> + Sync),
}

/// The result of a run.
pub(crate) struct RunResult {
    /// Whether the fault struck, that is, whether the client sent such a command.
    pub(crate) is_struck: bool,
    pub(crate) observations: Observations,
    /// The broken promises and the log of the run; `None`: all were kept.
    pub(crate) complaint: Option<String>,
}

/// How long the struck client holds the lock.
const STAY: Duration = Duration::from_millis(60);
/// How long it holds the lock if it is a process of its own: long enough for the fault to strike it.
const STAY_OF_PROCESS: Duration = Duration::from_millis(250);
/// Tolerance for a busy machine before a lock counts as stuck.
const SLACK: Duration = Duration::from_secs(8);

impl FaultRun<'_> {
    /// Runs with a fault that strikes at a command to this server.
    pub(crate) fn run(&self, server: &Server, fault: &Fault) -> RunResult {
        self.run_through(server, fault, |proxy| Destination::to(&[proxy.url()]), Destination::to(&[server.url()]))
    }

    /// Runs with a fault that strikes at a command to this server, which is one of those that the clients connect to.
    pub(crate) fn run_through(
        &self,
        server: &Server,
        fault: &Fault,
        struck: impl FnOnce(&Proxy) -> Destination,
        others: Destination,
    ) -> RunResult {
        let proxy = Proxy::before(server);
        let held_for = self.patience();
        let place = self.key.bytes().map(usize::from).sum::<usize>() + self.command;
        let target = Target { server: server.client(), process: Handle::default(), held_for, place };
        let strike = (fault.strike)(&target);
        let environment = Environment {
            struck: struck(&proxy),
            others,
            before_release: &|| (),
            heal: &|| (fault.heal)(&target),
            struck_at: &|| proxy.struck().map(|struck| stamp().saturating_sub(now() - struck)),
            process: None,
        };
        if !fault.strikes_process {
            proxy.strike(self.command, strike);
            return self.run_in(&environment);
        }
        let url = proxy.url();
        let Some(command) = self.command.checked_sub(1) else {
            let struck_at = Mutex::new(None);
            let strike = Mutex::new(Some(strike));
            let strikes = || {
                let strike = strike.lock().expect("no thread panics while it holds this").take();
                if let Some(MessageFault::First(act)) = strike {
                    *struck_at.lock().expect("no thread panics while it holds this") = Some(stamp());
                    act();
                }
            };
            let struck_at = || *struck_at.lock().expect("no thread panics while it holds this");
            let process = Some((url.as_str(), &target.process));
            return self.run_in(&Environment {
                before_release: &strikes,
                struck_at: &struck_at,
                process,
                ..environment
            });
        };
        proxy.strike(command, strike);
        self.run_in(&Environment { process: Some((url.as_str(), &target.process)), ..environment })
    }

    /// Runs in this environment.
    pub(crate) fn run_in(&self, environment: &Environment<'_>) -> RunResult {
        let witness = Witness::default();
        let (begun, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            let others = [2, 3].map(|number| {
                let (witness, begun, ended) = (&witness, &begun, &ended);
                scope.spawn(move || self.other_client(number, environment, witness, begun, ended))
            });
            self.struck_client(environment, &witness, &begun);
            ended.store(true, Ordering::SeqCst);
            // The release of a dropped guard may still be under way, and the fault may strike it.
            while !others.iter().all(thread::ScopedJoinHandle::is_finished) {
                (environment.heal)();
                pause(Duration::from_millis(20));
            }
        });
        (environment.heal)();
        let struck = (environment.struck_at)();
        let final_state = self.final_state(environment, &witness);
        let log = witness.log(|log| Log { struck, ..log.clone() });
        let observations = observations(&log, final_state);
        let traits = self.tested.traits();
        let broken_promises =
            broken_promises(&log, &observations, traits, &promise(traits, self.row.damage), self.row.delay);
        let complaint = (!broken_promises.is_empty()).then(|| {
            let (lock, driver, fault, command) = (&self.tested.name, self.driver, self.row.name, self.command);
            format!("{lock}, {driver}, {fault} at command {command}: {}\n{log}", broken_promises.join("; "))
        });
        RunResult { is_struck: struck.is_some(), observations, complaint }
    }

    /// Makes at most two attempts.
    fn struck_client(&self, environment: &Environment<'_>, witness: &Witness, begun: &AtomicBool) {
        let _begins = Begins(begun);
        let locker = self.tested.locker(&self.key);
        let client = Client {
            number: 1,
            driver: self.driver,
            destination: environment.struck.clone(),
            locker,
            witness,
            on_event: |_| (),
        };
        for attempt in 0..2 {
            let mut leaves_at = None;
            let wait = Wait::backoff().for_at_most(self.patience());
            let in_process = |(url, handle)| self.struck_process(url, handle, environment, witness, begun);
            let outcome = environment.process.map(in_process).unwrap_or_else(|| {
                client.visit(&wait, self.row.stay, self.command % 2 == 1, || {
                    begun.store(true, Ordering::SeqCst);
                    let leaves = stamp() >= *leaves_at.get_or_insert_with(|| stamp() + STAY);
                    if leaves {
                        (environment.before_release)();
                    }
                    leaves
                })
            });
            begun.store(true, Ordering::SeqCst);
            if outcome == Outcome::Won || attempt == 1 {
                return;
            }
        }
    }

    fn struck_process(
        &self,
        url: &str,
        handle: &Handle,
        environment: &Environment<'_>,
        witness: &Witness,
        begun: &AtomicBool,
    ) -> Outcome {
        let lock = &self.tested.name;
        let task =
            Task { driver: self.driver, lock, key: &self.key, url, waits: self.patience(), stays: STAY_OF_PROCESS };
        child::visit(&task, handle, witness, &mut |event| match event {
            Event::Inside(..) => {
                begun.store(true, Ordering::SeqCst);
                (environment.before_release)();
            }
            Event::Answered(..) => begun.store(true, Ordering::SeqCst),
            Event::Attempts(_) | Event::Lost(..) | Event::Releases(_) | Event::Released(..) => {}
        })
    }

    /// Competes for the lock from the first client's answer on, until that client has ended and this one has held it twice.
    fn other_client(
        &self,
        number: u32,
        environment: &Environment<'_>,
        witness: &Witness,
        begun: &AtomicBool,
        ended: &AtomicBool,
    ) {
        while !begun.load(Ordering::SeqCst) {
            pause(Duration::from_millis(2));
        }
        let locker = if number == 2 { self.tested.rival(&self.key) } else { self.tested.locker(&self.key) };
        // While the first client runs: long enough to hold when a late command of that client arrives.
        let long_stay = locker.lease().length() * 6 / 10;
        let client = Client {
            number,
            driver: self.driver,
            destination: environment.others.clone(),
            locker,
            witness,
            on_event: |_| (),
        };
        let patience = stamp() + self.patience() + self.slack();
        let mut wins = 0;
        while (wins < 2 || !ended.load(Ordering::SeqCst)) && stamp() < patience {
            let length = if wins == 0 || !ended.load(Ordering::SeqCst) { long_stay } else { STAY / 4 };
            let wait = Wait::backoff_between(Duration::from_millis(2), Duration::from_millis(20), 2);
            let wait = wait.for_at_most(patience.saturating_sub(stamp()).min(self.patience()));
            let mut leaves_at = None;
            let outcome = client
                .visit(&wait, Stay::Fixed, false, || stamp() >= *leaves_at.get_or_insert_with(|| stamp() + length));
            match outcome {
                Outcome::Won => wins += 1,
                Outcome::Refused | Outcome::Failed | Outcome::Unknown => pause(Duration::from_millis(10)),
            }
        }
    }

    /// Whether the lock can be acquired after all clients and all leases have ended.
    fn final_state(&self, environment: &Environment<'_>, witness: &Witness) -> FinalState {
        let locker = self.tested.rival(&self.key);
        let client = Client {
            number: 4,
            driver: Driver::Blocking,
            destination: environment.others.clone(),
            locker,
            witness,
            on_event: |_| (),
        };
        let wait = Wait::every(Duration::from_millis(20)).for_at_most(self.patience() + SLACK);
        let ends = stamp() + self.patience() + self.slack();
        while stamp() < ends {
            if client.visit(&wait, Stay::Fixed, false, || true) == Outcome::Won {
                return FinalState::Free;
            }
        }
        FinalState::Stuck
    }

    /// How long a lock that was not released may keep others out.
    fn patience(&self) -> Duration {
        self.tested.traits().free_after_crash.unwrap_or(self.tested.locker("k").lease().length())
    }

    fn slack(&self) -> Duration {
        if self.tested.traits().free_after_crash.is_some() { SLACK } else { Duration::ZERO }
    }
}

/// Lets the other clients begin when it is dropped at the latest, also if the struck client panics.
struct Begins<'a>(&'a AtomicBool);

impl Drop for Begins<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
