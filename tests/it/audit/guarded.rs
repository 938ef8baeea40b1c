//! Clients of old dialects behind a guard, of which the truth is known: beside each other, beside clients of the new lock and
//! beside old ones without a guard.

use std::time::Duration;

use lockshift::audit::{Audit, Certainty, Evidence, LockSummary};
use lockshift::bridge::new_key;
use lockshift::driver::blocking::{Guard, Lock};
use lockshift::driver::{Answer, Attempt};
use lockshift::lock::{Lease, Released};
use lockshift::protocols::Choice;
use lockshift::race_id::RaceId;
use lockshift::wire::Key;
use redis::{Commands, Connection, cmd};

use super::beliefs::{check_fleet, no_false_alarm, no_miss, wins_agree};
use super::written::audit;
use crate::cli::{done, lockshift};
use crate::guard::server_secs;
use crate::guard_process::GuardProcess;
use crate::monitor::{Line, Monitor};
use crate::patience::pause;
use crate::server::Server;

/// The token lock on the new key.
const NEW: &str = "token,key=sibling";

/// Clients behind a guard, and their old dialect.
const GUARDED: [(&str, &str); 4] = [
    ("guard:php-getset", "php-getset"),
    ("guard:jedis-lock", "jedis-lock"),
    ("bridge-guard:php-getset", "php-getset"),
    ("bridge-guard:jedis-lock", "jedis-lock"),
];

#[test]
fn clients_behind_guards_raise_no_alarm_among_themselves() {
    for (guarded, _) in GUARDED {
        check_fleet([guarded; 3], false, |audit, truth| {
            wins_agree(audit, truth)?;
            no_false_alarm(audit, truth)
        });
    }
}

#[test]
fn clients_behind_guards_in_bridge_mode_raise_no_alarm_beside_new_clients_and_bridges() {
    for (guarded, others) in [
        ("bridge-guard:php-getset", [NEW, NEW]),
        ("bridge-guard:php-getset", ["bridge:php-getset", NEW]),
        ("bridge-guard:jedis-lock", ["bridge-guard:jedis-lock", NEW]),
    ] {
        check_fleet([guarded, others[0], others[1]], false, |audit, truth| {
            wins_agree(audit, truth)?;
            no_false_alarm(audit, truth)
        });
    }
}

#[test]
fn what_goes_wrong_between_clients_with_and_without_a_guard_is_seen() {
    for (guarded, old) in GUARDED {
        check_fleet([guarded, old, old], false, no_miss);
    }
}

/// A guard in this mode before a server, and all that the server has run.
struct Guarded {
    server: Server,
    guard: GuardProcess,
    monitor: Monitor,
    direct: Connection,
}

impl Guarded {
    fn new(mode: &str, more: &[&str]) -> Self {
        let server = Server::start();
        let rules = [("lock".to_owned(), "php-getset")];
        let guard = GuardProcess::start(&server.url(), &rules, &[&["--mode", mode], more].concat());
        let monitor = Monitor::on(&server);
        let direct = server.connect();
        Self { server, guard, monitor, direct }
    }

    /// A client behind the guard tries to acquire the lock for so many seconds, as an old PHP client does.
    fn tries(&mut self, client: &mut Connection, secs: i64) -> bool {
        let stamp = server_secs(&mut self.direct) + secs;
        if client.set_nx::<_, _, bool>("lock", stamp).unwrap() {
            return true;
        }
        let found: Option<i64> = client.get("lock").unwrap();
        if found.is_some_and(|found| found >= server_secs(&mut self.direct)) {
            return false;
        }
        let before: Option<i64> = cmd("GETSET").arg("lock").arg(stamp).query(client).unwrap();
        before == found
    }

    /// Releases it as that client does. Returns how many keys it believes to have deleted.
    fn leaves(client: &mut Connection) -> i64 {
        let ttl: i64 = client.ttl("lock").unwrap();
        assert_ne!(ttl, 0, "it would not delete");
        client.del("lock").unwrap()
    }

    /// A client of the token lock on the new key.
    fn token(&self) -> Lock<Connection> {
        let choice: Choice = "token".parse().unwrap();
        let lease = Lease::new(Duration::from_secs(30)).unwrap();
        Lock::new(self.server.connect(), choice.locker(new_key(&"lock".into()), lease))
    }

    /// What MONITOR has listed, and the audit of that.
    fn audit(&mut self) -> Audit {
        audit(&self.listed())
    }

    fn listed(&mut self) -> String {
        self.monitor.take().iter().map(Line::listed).collect()
    }
}

fn wins(lock: &Lock<Connection>) -> Guard<Connection> {
    let Attempt::Won(guard) = lock.try_acquire().unwrap() else { panic!("the lock is free") };
    guard
}

fn releases(guard: Guard<Connection>) {
    assert!(matches!(guard.release(), Ok(Answer::Known(Released::Freed))));
}

fn lock<'a>(audit: &'a Audit, key: &Key) -> &'a LockSummary {
    let found = audit.locks.iter().find(|lock| lock.key == *key);
    found.unwrap_or_else(|| panic!("{key} is not among {:#?}", audit.locks))
}

/// What was counted at a key: acquisitions, releases, and refusals.
fn counted(audit: &Audit, key: &Key) -> [u64; 3] {
    let lock = lock(audit, key);
    let statistics = &lock.statistics;
    assert_eq!([statistics.unrecognised, statistics.guessed, statistics.undecided], [0; 3], "{lock:#?}");
    [statistics.acquisitions, statistics.releases, statistics.refusals]
}

fn races(audit: &Audit) -> Vec<Option<RaceId>> {
    audit.findings.iter().map(|found| found.verdict.race).collect()
}

#[test]
fn the_holds_behind_a_guard_that_protects_are_listed_by_connection() {
    let mut all = Guarded::new("protect", &[]);
    let [mut alice, mut bob] = [all.guard.connect(), all.guard.connect()];
    for _ in 0..3 {
        assert!(all.tries(&mut alice, 30) && !all.tries(&mut bob, 30));
        assert_eq!([Guarded::leaves(&mut bob), Guarded::leaves(&mut alice)], [0, 1]);
        assert!(all.tries(&mut bob, 30));
        assert_eq!(Guarded::leaves(&mut bob), 1);
    }
    let audit = all.audit();
    assert_eq!(audit.findings, [], "{:#?}", audit.locks);
    assert_eq!(counted(&audit, &"lock".into()), [6, 6, 3]);
    let lock = lock(&audit, &"lock".into());
    assert_eq!((lock.clients, lock.busiest.iter().map(|it| it.acquisitions).collect::<Vec<_>>()), (2, vec![3, 3]));
    assert!(lock.dialects.contains(&"guard:php-getset".to_owned()), "{:?}", lock.dialects);
    assert!(lock.dialects.iter().all(|name| name.starts_with("guard:")), "{:?}", lock.dialects);
}

#[test]
fn a_guard_that_bridges_and_clients_of_the_new_lock_raise_no_alarm() {
    let mut all = Guarded::new("bridge", &[]);
    let mut old = all.guard.connect();
    let new = all.token();
    for _ in 0..3 {
        assert!(all.tries(&mut old, 30));
        assert!(matches!(new.try_acquire().unwrap(), Attempt::Held(_)), "the old client holds it");
        assert_eq!(Guarded::leaves(&mut old), 1);
        let held = wins(&new);
        assert!(!all.tries(&mut old, 30), "the new client holds it");
        releases(held);
    }
    let audit = all.audit();
    assert_eq!(audit.findings, [], "{:#?}", audit.locks);
    assert_eq!(counted(&audit, &"lock".into()), [3, 3, 3]);
    assert_eq!(counted(&audit, &new_key(&"lock".into())), [3, 3, 3]);
    assert!(lock(&audit, &"lock".into()).dialects.contains(&"bridge-guard:php-getset".to_owned()), "{audit:#?}");
    assert!(lock(&audit, &new_key(&"lock".into())).dialects.contains(&"token".to_owned()), "{audit:#?}");
}

#[test]
fn a_client_behind_a_guard_that_bridges_releases_late_and_a_new_client_has_acquired() {
    let mut all = Guarded::new("bridge", &[]);
    let mut old = all.guard.connect();
    let new = all.token();
    assert!(all.tries(&mut old, 1));
    let held = crate::patience::until("the lease ends", || match new.try_acquire().unwrap() {
        Attempt::Won(guard) => Some(guard),
        _ => None,
    });
    assert_eq!(Guarded::leaves(&mut old), 0, "it has lost the lock");
    releases(held);
    let audit = all.audit();
    assert_eq!(races(&audit), [Some(RaceId::Overrun)], "{:#?}", audit.findings);
    assert_eq!(audit.findings[0].verdict.clients.len(), 2, "{:#?}", audit.findings);
    assert_eq!(counted(&audit, &"lock".into())[..2], [1, 1]);
}

#[test]
fn a_double_hold_of_a_new_client_and_one_behind_a_guard_is_found() {
    let mut all = Guarded::new("bridge", &[]);
    let mut old = all.guard.connect();
    let new = all.token();
    // Both keys are known to be free.
    assert!(all.tries(&mut old, 30));
    assert_eq!(Guarded::leaves(&mut old), 1);
    let held = wins(&new);
    // A client that does not use the lock cuts its time to live.
    let new_key = new_key(&"lock".into());
    assert_eq!(cmd("PEXPIRE").arg(new_key.as_bytes()).arg(1).query(&mut all.direct), Ok(1));
    pause(Duration::from_millis(20));
    assert!(all.tries(&mut old, 30));
    let audit = all.audit();
    let [found] = audit.findings.as_slice() else { panic!("one finding: {:#?}", audit.findings) };
    assert!(matches!(found.verdict.evidence, Evidence::DoubleHold { .. }), "{found:#?}");
    assert_eq!((found.verdict.certainty, found.verdict.clients.len()), (Certainty::Certain, 2), "{found:#?}");
    drop(held);
}

#[test]
fn a_holder_is_overtaken_behind_a_guard_when_its_lease_has_ended() {
    let mut all = Guarded::new("protect", &[]);
    let [mut alice, mut bob] = [all.guard.connect(), all.guard.connect()];
    assert!(all.tries(&mut alice, 30));
    assert_eq!(Guarded::leaves(&mut alice), 1);
    assert!(all.tries(&mut alice, 1));
    while !all.tries(&mut bob, 30) {
        pause(Duration::from_millis(50));
    }
    assert_eq!([Guarded::leaves(&mut alice), Guarded::leaves(&mut bob)], [0, 1]);
    let audit = all.audit();
    assert_eq!(races(&audit), [Some(RaceId::Overrun)], "{:#?}", audit.findings);
    assert_eq!(audit.findings[0].verdict.clients.len(), 2, "{:#?}", audit.findings);
    assert_eq!(counted(&audit, &"lock".into())[..2], [3, 3]);
}

#[test]
fn locks_that_a_guard_extends_are_held_for_longer_than_their_lease() {
    for mode in ["protect", "bridge"] {
        let mut all = Guarded::new(mode, &["--renew", "1h"]);
        let [mut alice, mut bob] = [all.guard.connect(), all.guard.connect()];
        assert!(all.tries(&mut alice, 30));
        assert_eq!(Guarded::leaves(&mut alice), 1);
        assert!(all.tries(&mut alice, 1));
        let end = server_secs(&mut all.direct) + 4;
        while server_secs(&mut all.direct) < end {
            assert!(!all.tries(&mut bob, 30), "{mode}");
            pause(Duration::from_millis(100));
        }
        assert_eq!(Guarded::leaves(&mut alice), 1);
        let audit = all.audit();
        assert_eq!(audit.findings, [], "{mode}: {:#?}", audit.locks);
        assert_eq!(counted(&audit, &"lock".into())[..2], [2, 2], "{mode}");
        let extended: Vec<bool> = audit.episodes.iter().map(|episode| episode.is_extended).collect();
        assert_eq!(extended, [false, true], "{mode}");
    }
}

#[test]
fn keys_that_a_guard_lets_live_for_ever_are_locks_too() {
    let mut all = Guarded::new("protect", &["--no-ttl"]);
    let [mut alice, mut bob] = [all.guard.connect(), all.guard.connect()];
    assert!(all.tries(&mut alice, 30) && !all.tries(&mut bob, 30));
    assert_eq!(Guarded::leaves(&mut alice), 1);
    assert!(all.tries(&mut bob, 30));
    // A release in a transaction.
    cmd("WATCH").arg("lock").exec(&mut bob).unwrap();
    redis::pipe().atomic().del("lock").exec(&mut bob).unwrap();
    assert_eq!(all.direct.exists("lock"), Ok(false));
    let audit = all.audit();
    assert_eq!(audit.findings, [], "{:#?}", audit.locks);
    assert_eq!(counted(&audit, &"lock".into()), [2, 2, 1]);
}

/// A guard that protects holds the old key alone, so that it and the token lock do not exclude each other. They are two locks, as
/// they are to a fleet in shadow mode.
#[test]
fn behind_a_guard_that_protects_the_old_key_and_the_new_one_are_two_locks() {
    let mut all = Guarded::new("protect", &[]);
    let mut old = all.guard.connect();
    let new = all.token();
    assert!(all.tries(&mut old, 30));
    let held = wins(&new);
    assert_eq!(Guarded::leaves(&mut old), 1);
    releases(held);
    let audit = all.audit();
    assert_eq!(audit.findings, []);
    assert_eq!(counted(&audit, &"lock".into()), [1, 1, 0]);
    assert_eq!(counted(&audit, &new_key(&"lock".into())), [1, 1, 0]);
    assert!(lock(&audit, &"lock".into()).dialects.iter().all(|name| name.starts_with("guard:")), "{audit:#?}");
}

/// The calls of a guard's script show that it has written, whatever the clock of the trace says.
#[test]
fn a_clock_of_the_trace_that_is_wrong_hides_no_hold_behind_a_guard() {
    let mut all = Guarded::new("protect", &[]);
    let mut old = all.guard.connect();
    for _ in 0..2 {
        assert!(all.tries(&mut old, 30));
        assert_eq!(Guarded::leaves(&mut old), 1);
    }
    let listed = all.listed();
    let late: String = listed.lines().map(|line| later(line) + "\n").collect();
    assert_eq!(counted(&audit(&late), &"lock".into()), [2, 2, 0], "{late}");
}

/// The line as a clock lists it that is ten seconds ahead.
fn later(line: &str) -> String {
    let (secs, rest) = line.split_once('.').expect("a line begins with its moment");
    format!("{}.{rest}", secs.parse::<i64>().expect("seconds") + 10)
}

/// With replies instead of the calls of scripts: the events of a guard that observes, between the other guard and the server.
#[test]
fn the_replies_to_a_guard_tell_the_same_as_the_calls_of_its_scripts() {
    let directory = tempfile::tempdir().unwrap();
    for mode in ["protect", "bridge"] {
        let server = Server::start();
        let events = directory.path().join(mode).display().to_string();
        let everything = [("*".to_owned(), "php-getset")];
        let observer = GuardProcess::start(&server.url(), &everything, &["--mode", "observe", "--events", &events]);
        let rules = [("lock".to_owned(), "php-getset")];
        let guard = GuardProcess::start(&format!("redis://{}/", observer.address()), &rules, &["--mode", mode]);
        let [mut alice, mut bob] = [guard.connect(), guard.connect()];
        let mut direct = server.connect();
        for _ in 0..3 {
            let stamp = server_secs(&mut direct) + 30;
            assert!(alice.set_nx::<_, _, bool>("lock", stamp).unwrap());
            assert!(!bob.set_nx::<_, _, bool>("lock", stamp).unwrap());
            assert_eq!(Guarded::leaves(&mut alice), 1);
        }
        for running in [guard, observer] {
            running.terminate();
            running.done();
        }
        let done = done(lockshift(), ["audit", "--json", &events]);
        assert_eq!(done.code, Some(0), "{mode}: {done:?}");
        let lock = &done.json()["locks"][0];
        assert_eq!((&lock["acquisitions"], &lock["refusals"]), (&3.into(), &3.into()), "{mode}: {lock}");
    }
}
