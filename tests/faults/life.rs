//! The life of a lock under a fault: one client acquires, stays and releases, and the fault strikes at one of its
//! commands, at each in turn; two others want the lock meanwhile, over connections that nothing happens to.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use lockshift::driver::Wait;
use lockshift::lock::Locker;

use crate::child::{self, Handle, Task};
use crate::client::{Client, Stay};
use crate::drivers::{Driver, Way};
use crate::judge::{Afterwards, Shown, broken, shown};
use crate::patience::{now, pause};
use crate::promise::{Row, promise};
use crate::proxy::{Proxy, Strike};
use crate::server::Server;
use crate::strikes::{Fault, Target};
use crate::subjects::Subject;
use crate::witness::{Event, Log, Outcome, Stamp, Witness, stamp};

/// One run.
pub(crate) struct Life<'a> {
    pub(crate) subject: &'a Subject,
    pub(crate) driver: Driver,
    pub(crate) row: Row,
    /// At which of the client's commands the fault strikes, where it strikes at one.
    pub(crate) command: usize,
    pub(crate) key: String,
}

/// Where a run takes place.
pub(crate) struct Ground<'a> {
    /// How the client connects that is struck.
    pub(crate) struck: Way,
    /// How the others do.
    pub(crate) others: Way,
    /// Done by the client that is struck, before it leaves; where it is another process, when it is inside.
    pub(crate) before_release: &'a (dyn Fn() + Sync),
    /// Ends the fault.
    pub(crate) heal: &'a (dyn Fn() + Sync),
    /// By what address the client connects that is struck, if it is a process of its own.
    pub(crate) process: Option<(&'a str, &'a Handle)>,
    /// When the fault has struck.
    pub(crate) struck_at: &'a (dyn Fn() -> Option<Stamp> + Sync),
}

/// What came of a run.
pub(crate) struct Lived {
    /// Whether the fault has struck: there was such a command.
    pub(crate) is_struck: bool,
    pub(crate) shown: Shown,
    /// What is not as it was promised, with what happened.
    pub(crate) complaint: Option<String>,
}

/// For how long the struck client stays.
const STAY: Duration = Duration::from_millis(60);
/// For how long, if it is a process of its own: it is not done before the fault strikes it.
const STAY_OF_PROCESS: Duration = Duration::from_millis(250);
/// What a lock may be stuck longer than it must: for a machine that has other things to do as well.
const SLACK: Duration = Duration::from_secs(8);

impl Life<'_> {
    /// Plays it with a fault that strikes at a command to this server.
    pub(crate) fn play(&self, server: &Server, fault: &Fault) -> Lived {
        self.play_through(server, fault, |proxy| Way::to(&[proxy.url()]), Way::to(&[server.url()]))
    }

    /// Plays it with a fault that strikes at a command to this server, which is one of those that the ways lead to.
    pub(crate) fn play_through(
        &self,
        server: &Server,
        fault: &Fault,
        struck: impl FnOnce(&Proxy) -> Way,
        others: Way,
    ) -> Lived {
        let proxy = Proxy::before(server);
        let held_for = self.patience();
        let place = self.key.bytes().map(usize::from).sum::<usize>() + self.command;
        let target = Target { server: server.client(), process: Handle::default(), held_for, place };
        let strike = (fault.strike)(&target);
        let ground = Ground {
            struck: struck(&proxy),
            others,
            before_release: &|| (),
            heal: &|| (fault.heal)(&target),
            struck_at: &|| proxy.struck().map(|struck| stamp().saturating_sub(now() - struck)),
            process: None,
        };
        if !fault.strikes_process {
            proxy.strike(self.command, strike);
            return self.play_on(&ground);
        }
        let url = proxy.url();
        let Some(command) = self.command.checked_sub(1) else {
            let struck_at = Mutex::new(None);
            let strike = Mutex::new(Some(strike));
            let strikes = || {
                let strike = strike.lock().expect("no thread panics while it holds this").take();
                if let Some(Strike::First(act)) = strike {
                    *struck_at.lock().expect("no thread panics while it holds this") = Some(stamp());
                    act();
                }
            };
            let struck_at = || *struck_at.lock().expect("no thread panics while it holds this");
            let process = Some((url.as_str(), &target.process));
            return self.play_on(&Ground { before_release: &strikes, struck_at: &struck_at, process, ..ground });
        };
        proxy.strike(command, strike);
        self.play_on(&Ground { process: Some((url.as_str(), &target.process)), ..ground })
    }

    /// Plays it there.
    pub(crate) fn play_on(&self, ground: &Ground<'_>) -> Lived {
        let witness = Witness::default();
        let (begun, over) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            let others = [2, 3].map(|number| {
                let (witness, begun, over) = (&witness, &begun, &over);
                scope.spawn(move || self.other_client(number, ground, witness, begun, over))
            });
            self.struck_client(ground, &witness, &begun);
            over.store(true, Ordering::SeqCst);
            // A guard that was dropped may be at its release yet, and be struck then.
            while !others.iter().all(thread::ScopedJoinHandle::is_finished) {
                (ground.heal)();
                pause(Duration::from_millis(20));
            }
        });
        (ground.heal)();
        let struck = (ground.struck_at)();
        let afterwards = self.afterwards(ground, &witness);
        let log = witness.log(|log| Log { struck, ..log.clone() });
        let shown = shown(&log, afterwards);
        let nature = self.subject.nature();
        let broken = broken(&log, &shown, nature, &promise(nature, self.row.harm), self.row.delay);
        let complaint = (!broken.is_empty()).then(|| {
            let (subject, driver, fault, command) = (&self.subject.name, self.driver, self.row.name, self.command);
            format!("{subject}, {driver}, {fault} at command {command}: {}\n{log}", broken.join("; "))
        });
        Lived { is_struck: struck.is_some(), shown, complaint }
    }

    /// Tries twice at most.
    fn struck_client(&self, ground: &Ground<'_>, witness: &Witness, begun: &AtomicBool) {
        let _begins = Begins(begun);
        let locker = self.subject.locker(&self.key);
        let client =
            Client { number: 1, driver: self.driver, way: ground.struck.clone(), locker, witness, tells: |_| () };
        for attempt in 0..2 {
            let mut leaves_at = None;
            let wait = Wait::backoff().for_at_most(self.patience());
            let in_process = |(url, handle)| self.struck_process(url, handle, ground, witness, begun);
            let outcome = ground.process.map(in_process).unwrap_or_else(|| {
                client.visit(&wait, self.row.stay, self.command % 2 == 1, || {
                    begun.store(true, Ordering::SeqCst);
                    let leaves = stamp() >= *leaves_at.get_or_insert_with(|| stamp() + STAY);
                    if leaves {
                        (ground.before_release)();
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
        ground: &Ground<'_>,
        witness: &Witness,
        begun: &AtomicBool,
    ) -> Outcome {
        let lock = &self.subject.name;
        let task =
            Task { driver: self.driver, lock, key: &self.key, url, waits: self.patience(), stays: STAY_OF_PROCESS };
        child::visit(&task, handle, witness, &mut |event| match event {
            Event::Inside(..) => {
                begun.store(true, Ordering::SeqCst);
                (ground.before_release)();
            }
            Event::Answered(..) => begun.store(true, Ordering::SeqCst),
            Event::Asks(_) | Event::Lost(..) | Event::Releases(_) | Event::Released(..) => {}
        })
    }

    /// Wants the lock once the first client has had its answer, until that is gone and this one has had it twice.
    fn other_client(&self, number: u32, ground: &Ground<'_>, witness: &Witness, begun: &AtomicBool, over: &AtomicBool) {
        while !begun.load(Ordering::SeqCst) {
            pause(Duration::from_millis(2));
        }
        let locker = if number == 2 { self.subject.against(&self.key) } else { self.subject.locker(&self.key) };
        // While the first one is there: long enough to be inside when a late command of it arrives.
        let long_stay = locker.lease().length() * 6 / 10;
        let client = Client { number, driver: self.driver, way: ground.others.clone(), locker, witness, tells: |_| () };
        let patience = stamp() + self.patience() + self.slack();
        let mut wins = 0;
        while (wins < 2 || !over.load(Ordering::SeqCst)) && stamp() < patience {
            let length = if wins == 0 || !over.load(Ordering::SeqCst) { long_stay } else { STAY / 4 };
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

    /// Whether the lock can be had when everybody has gone and every lease has ended.
    fn afterwards(&self, ground: &Ground<'_>, witness: &Witness) -> Afterwards {
        let locker = self.subject.against(&self.key);
        let client =
            Client { number: 4, driver: Driver::Blocking, way: ground.others.clone(), locker, witness, tells: |_| () };
        let wait = Wait::every(Duration::from_millis(20)).for_at_most(self.patience() + SLACK);
        let ends = stamp() + self.patience() + self.slack();
        while stamp() < ends {
            if client.visit(&wait, Stay::Fixed, false, || true) == Outcome::Won {
                return Afterwards::Free;
            }
        }
        Afterwards::Stuck
    }

    /// How long a lock that was not released may be in the way.
    fn patience(&self) -> Duration {
        self.subject.nature().frees_after.unwrap_or(self.subject.locker("k").lease().length())
    }

    fn slack(&self) -> Duration {
        if self.subject.nature().frees_after.is_some() { SLACK } else { Duration::ZERO }
    }
}

/// The others begin when this is dropped at the latest, also if their run has broken off: it fails then, and goes on for no
/// longer than they are patient.
struct Begins<'a>(&'a AtomicBool);

impl Drop for Begins<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
