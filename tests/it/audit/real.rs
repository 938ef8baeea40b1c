//! Every protocol that the catalogue knows, spoken to a real server: the audit of what MONITOR lists then knows it by name,
//! counts what was acquired, and finds nothing. Each is spoken within a moment, and again over more than a second: what a
//! stamp of whole seconds says changes then.

use std::time::Duration;

use lockshift::audit::Audit;
use lockshift::driver::Attempt;
use lockshift::driver::blocking::{Guard, Lock};
use lockshift::lock::Lease;
use lockshift::protocols::{Choice, Generation, ModeOfGuard, Protocol, catalogue, find};
use lockshift::race_id::RaceId;
use lockshift::wire::Key;
use redis::Connection;

use super::written::audit;
use crate::monitor::{Line, Monitor};
use crate::patience::pause;
use crate::server::{Options, Server, fetched};

/// A protocol as it may be named, and the newer server that it needs, if it does.
#[derive(Clone, Debug)]
pub(super) struct Spoken {
    protocol: Protocol,
    pub(super) written: String,
    pub(super) needs: Option<&'static str>,
}

/// Each protocol as it is, and with each word of each of its settings; a bridge for each dialect that can be bridged.
pub(super) fn every() -> Vec<Spoken> {
    let mut all = Vec::new();
    for protocol in catalogue() {
        let mut say = |written: String, needs| all.push(Spoken { protocol, written, needs });
        say(protocol.name().to_owned(), None);
        for setting in protocol.settings().iter().filter(|setting| setting.name != "servers") {
            for word in setting.alternatives() {
                let needs = (setting.name == "native").then_some(*word);
                say(format!("{},{}={word}", protocol.name(), setting.name), needs);
            }
        }
        if protocol.generation() == Generation::Legacy {
            let bridge = format!("bridge:{}", protocol.name());
            if find(&bridge).is_ok_and(|it| it.name() != bridge) && bridge.parse::<Choice>().is_ok() {
                all.push(Spoken { protocol, written: bridge, needs: None });
            }
        }
    }
    all
}

/// A client of each dialect that can be guarded, behind each kind of guard.
fn guarded() -> impl Iterator<Item = Spoken> {
    let old = catalogue().filter(|protocol| protocol.generation() == Generation::Legacy);
    old.flat_map(|protocol| {
        let written = ModeOfGuard::ALL.into_iter().map(move |mode| mode.client_of(&[protocol.name()]));
        let can_be = written.filter(|written| written.parse::<Choice>().is_ok());
        can_be.map(move |written| Spoken { protocol, written, needs: None })
    })
}

/// What really happened at a key.
#[derive(Debug)]
struct Truth {
    spoken: Spoken,
    /// As it was given, and as the lock has it: some go by a key made of it.
    keys: [Key; 2],
    acquired: u64,
    left: u64,
}

/// For how long two clients ask for a lock, in milliseconds and in seconds numbers of many lengths; and how long each works
/// with it before it goes on.
#[derive(Clone, Copy, Debug)]
struct Pace {
    lease: Duration,
    work: Duration,
}

const AT_ONCE: Pace = Pace { lease: Duration::from_secs(30), work: Duration::ZERO };
const OVER_SECONDS: Pace = Pace { lease: Duration::from_secs(3600), work: Duration::from_millis(1_100) };

/// Two clients on a key: one acquires, the other one asks for the lock, the first extends it and releases it; then the other
/// one acquires.
fn played(server: &Server, spoken: &Spoken, pace: Pace) -> Truth {
    let Pace { lease, work } = pace;
    let choice: Choice = spoken.written.parse().unwrap();
    let key = Key::from(format!("{} for {lease:?}", spoken.written).as_str());
    let client = || Lock::new(server.connect(), choice.locker(key.clone(), Lease::new(lease).unwrap()));
    let (alice, bob) = (client(), client());
    let mut truth = Truth { spoken: spoken.clone(), keys: [key.clone(), alice.key().clone()], acquired: 0, left: 0 };
    let won = truth.tries(&alice).unwrap_or_else(|| panic!("{}: the lock is free", spoken.written));
    let shared = elsewhere(|| truth.tries(&bob));
    shared.into_iter().for_each(|guard| truth.releases(guard));
    pause(work);
    let _ = won.extend().unwrap();
    pause(work);
    truth.releases(won);
    let next = elsewhere(|| truth.tries(&bob));
    pause(work);
    next.into_iter().for_each(|guard| truth.releases(guard));
    truth
}

/// All of these at the same time.
fn over_seconds(server: &Server, all: &[&Spoken]) -> Vec<Truth> {
    std::thread::scope(|scope| {
        let played = all.iter().map(|it| scope.spawn(move || played(server, it, OVER_SECONDS)));
        let played: Vec<_> = played.collect();
        played.into_iter().map(|thread| thread.join().expect("it is well there")).collect()
    })
}

/// On another thread: some locks are a thread's own.
fn elsewhere<T: Send>(does: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(does).join().expect("it is well there"))
}

impl Truth {
    fn tries(&mut self, client: &Lock<Connection>) -> Option<Guard<Connection>> {
        match client.try_acquire().unwrap() {
            Attempt::Won(guard) => {
                self.acquired += 1;
                Some(guard)
            }
            Attempt::Held(_) | Attempt::TooLate => None,
            Attempt::Unknown(unknown) => panic!("{unknown}"),
        }
    }

    fn releases(&mut self, guard: Guard<Connection>) {
        let _ = guard.release().unwrap();
        self.left += 1;
    }
}

/// Those who say what others say, word by word, and go by their names here.
const ALSO: &[(&str, &str)] = &[("redlock", "token")];

/// What is wrong with a protocol whichever client uses it, and is found as often as it is acquired.
const FLAWED: &[(&str, RaceId)] = &[
    ("php-getset-absolute-expire", RaceId::AbsoluteExpire),
    ("php7-getset-absolute-expire", RaceId::AbsoluteExpire),
    ("retools-absolute-expire", RaceId::AbsoluteExpire),
    ("spring-redis-callback", RaceId::ReleaseMissesKey),
];

/// Those who release by saying nothing: the key's time to live ends. A second client gets in with the stamp of a later second.
const SILENT: &[&str] = &["l2met"];

/// What is wrong with the audit of the commands of these clients.
fn wrong(truth: &Truth, audit: &Audit) -> Option<String> {
    let Truth { spoken: Spoken { protocol, written, .. }, keys, acquired, left } = truth;
    let also = ALSO.iter().find(|(name, _)| name == written).map(|(_, it)| *it);
    let flaw = FLAWED.iter().find(|(name, _)| name == written).map(|(_, race)| Some(*race));
    let lock = audit.locks.iter().find(|lock| keys.contains(&lock.key));
    let names = lock.map(|lock| lock.dialects.clone()).unwrap_or_default();
    let is_like = |prefix: &str| written.starts_with(prefix) && names.iter().all(|name| name.starts_with(prefix));
    let is_named = match written.split_once(':') {
        Some(("bridge", _)) => is_like("bridge:"),
        Some((mode, _)) => is_like(&format!("{mode}:")) && names.contains(written),
        None => names.iter().any(|name| name == also.unwrap_or(protocol.name())),
    };
    let tallied = lock.map(|lock| (lock.statistics.acquisitions, lock.statistics.releases));
    let is_silent = SILENT.contains(&written.as_str());
    let left = if is_silent { 0 } else { *left };
    let newer = (is_silent && *acquired > 1).then_some(Some(RaceId::NewerStampWins));
    let races: Vec<_> =
        audit.findings.iter().filter(|found| keys.contains(&found.key)).map(|found| found.verdict.race).collect();
    let expected = flaw.into_iter().flat_map(|race| (0..*acquired).map(move |_| race));
    let expected: Vec<_> = expected.chain(newer).collect();
    let is_well = tallied == Some((*acquired, left)) && races == expected && is_named;
    (!is_well).then(|| format!("{}: {tallied:?} for {acquired} and {left}, {races:?}, {names:?}", keys[0]))
}

#[test]
fn each_protocol_is_known_by_what_it_says_to_a_real_server() {
    let all: Vec<Spoken> = every().into_iter().chain(guarded()).collect();
    let mut servers: Vec<Option<&str>> = all.iter().map(|spoken| spoken.needs).collect();
    servers.sort_unstable();
    servers.dedup();
    let mut complaints = Vec::new();
    for needs in servers {
        let options = needs.map_or_else(Options::new, |needs| Options::new().program(fetched(needs)));
        let server = Server::with(&options);
        let mut monitor = Monitor::on(&server);
        let here: Vec<&Spoken> = all.iter().filter(|spoken| spoken.needs == needs).collect();
        let at_once = here.iter().map(|it| played(&server, it, AT_ONCE));
        // Newer servers run the same protocols with commands of their own, which compare tokens.
        let stamped = if needs.is_none() { here.as_slice() } else { &[] };
        let played: Vec<Truth> = at_once.chain(over_seconds(&server, stamped)).collect();
        let audit = audit(&monitor.take().iter().map(Line::listed).collect::<String>());
        complaints.extend(played.iter().filter_map(|truth| wrong(truth, &audit)));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
