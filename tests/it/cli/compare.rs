//! `lockshift compare`: figures, and the witness that makes them honest.

use std::sync::Arc;
use std::time::Duration;

use lockshift::compare::{CompareStop, Percent, Settings, Statistics, Workload, run};
use lockshift::driver::Wait;
use lockshift::lock::{Acquired, Extended, Hold, LateRelease, Lease, Locker, Owner, Ownership, Released};
use lockshift::wire::{Expiry, Key, Set, Transcript, Turn};
use redis::cmd;
use rustix::process::Signal;

use super::command::{Running, done, lockshift_at};
use crate::patience::until;
use crate::server::Server;

/// How many keys there are.
fn keys(server: &Server) -> u64 {
    cmd("DBSIZE").query(&mut server.connect()).unwrap()
}

#[test]
fn the_token_lock_is_compared_with_itself() {
    let server = Server::start();
    let args = ["compare", "token", "token", "--clients", "4", "--seconds", "0.5", "--hold-ms", "1", "--json"];
    let compared = done(lockshift_at(&server), args);
    assert_eq!((compared.code, compared.stderr.as_str()), (Some(0), ""), "{compared:?}");

    let json = compared.json();
    let both = json.as_array().unwrap();
    assert_eq!(both.len(), 2);
    for one in both {
        let fields: Vec<_> = one.as_object().unwrap().keys().map(String::as_str).collect();
        let mut contract = [
            "protocol",
            "acquisitions",
            "seconds",
            "per_second",
            "wait_p50_ms",
            "wait_p99_ms",
            "wait_p99_of_ideal",
            "commands_per_acquisition",
            "double_holds",
            "wrong_releases",
            "busy_ratio",
        ];
        contract.sort_unstable();
        assert_eq!(fields, contract);
        assert_eq!((&one["protocol"], &one["seconds"]), (&"token".into(), &0.5.into()));
        assert_eq!((one["double_holds"].as_u64(), one["wrong_releases"].as_u64()), (Some(0), Some(0)));
        assert!(one["acquisitions"].as_u64().unwrap() > 0, "{one}");
        assert!(one["commands_per_acquisition"].as_f64().unwrap() >= 2.0, "SET and EVALSHA: {one}");
        assert!((0.0..=1.0).contains(&one["busy_ratio"].as_f64().unwrap()), "{one}");
    }
    assert_eq!(keys(&server), 0, "nothing stays behind");
}

/// Nobody polls: a place in the queue, the call, the release, and what it takes to begin to listen.
#[test]
fn the_token_lock_takes_to_other_ways_of_waiting() {
    let server = Server::start();
    let compared = |wait| {
        let args = ["compare", "token", "--clients", "8", "--seconds", "1", "--json", "--wait", wait];
        let compared = done(lockshift_at(&server), args);
        assert_eq!((compared.code, compared.stderr.as_str()), (Some(0), ""), "{compared:?}");
        assert_eq!(keys(&server), 0, "nothing stays behind, no queue either");
        compared.json()[0].clone()
    };
    for (wait, protocol) in [("backoff", "token"), ("notified", "token,announce=publish"), ("fair", "fair")] {
        assert_eq!(compared(wait)["protocol"], protocol);
    }
    let fair = compared("fair");
    assert!(fair["commands_per_acquisition"].as_f64().unwrap() < 5.0, "{fair}");
}

#[test]
fn an_overrun_is_seen_whatever_the_lock_is() {
    let server = Server::start();
    let args = ["compare", "token", "--clients", "4", "--seconds", "2", "--lease", "100ms", "--overrun", "50"];
    let compared = done(lockshift_at(&server), args);
    assert_eq!(compared.code, Some(1), "no lease outlives itself: {compared:?}");
    assert!(compared.stdout.starts_with("PROTOCOL"), "{compared:?}");
    assert_eq!(keys(&server), 0);
}

#[test]
fn a_takeover_by_del_lets_two_in() {
    let server = Server::start();
    // Waiters come one after the other when a lease ends, so a few crashes alone may show no wrong release.
    let mishaps = ["--seconds", "6", "--crash", "10", "--overrun", "40", "--hold-ms", "40", "--lease", "1s", "--json"];
    let args = ["compare", "php-del-takeover", "--clients", "8"];
    let compared = done(lockshift_at(&server), [&args[..], &mishaps].concat());
    assert_eq!(compared.code, Some(1), "{compared:?}");
    let json = compared.json();
    assert!(json[0]["double_holds"].as_u64().unwrap() > 0, "{json}");
    assert!(json[0]["wrong_releases"].as_u64().unwrap() > 0, "{json}");
    assert_eq!(keys(&server), 0);
}

#[test]
fn an_unconditional_delete_deletes_locks_of_other_clients() {
    let server = Server::start();
    let workload = ["--clients", "4", "--seconds", "4", "--hold-ms", "40", "--lease", "1s", "--overrun", "50"];
    let args = [&["compare", "naive-set-ex-nx", "token", "--json"][..], &workload].concat();
    let json = done(lockshift_at(&server), args).json();
    let wrong_releases = [0, 1].map(|index| json[index]["wrong_releases"].as_u64().unwrap());
    assert!(wrong_releases[0] > 0, "DEL, whichever owner it names: {json}");
    assert_eq!(wrong_releases[1], 0, "a token is compared first: {json}");
}

#[test]
fn a_client_that_always_says_it_has_released_is_not_believed() {
    let server = Server::start();
    let workload = ["--clients", "4", "--seconds", "3", "--hold-ms", "40", "--lease", "1s", "--overrun", "50"];
    let args = [&["compare", "redis-distributed-lock", "--json"][..], &workload].concat();
    let json = done(lockshift_at(&server), args).json();
    assert!(json[0]["double_holds"].as_u64().unwrap() > 0, "{json}");
    assert_eq!(json[0]["wrong_releases"], 0, "its script compares, whatever its client says: {json}");
}

#[test]
fn keys_of_whatever_name_are_cleaned_up() {
    let server = Server::start();
    let args = ["compare", "mlanett-redis-lock", "--clients", "2", "--seconds", "0.3", "--crash", "100"];
    let compared = done(lockshift_at(&server), args);
    assert_eq!(compared.code, Some(0), "{compared:?}");
    assert_eq!(keys(&server), 0, "its owner key and its expiry key as well");
}

#[test]
fn an_interrupted_comparison_cleans_up_first() {
    let server = Server::start();
    let running = Running::start(lockshift_at(&server), ["compare", "token", "--seconds", "60", "--hold-ms", "60000"]);
    until("lock and witness are there", || (keys(&server) == 2).then_some(()));
    running.signal(Signal::INT);
    let ended = running.done();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(128 + 2), ""), "{ended:?}");
    assert_eq!(keys(&server), 0);
}

#[test]
fn an_interrupted_comparison_shows_what_it_has() {
    let server = Server::start();
    let running =
        Running::start(lockshift_at(&server), ["compare", "token", "naive-setnx", "--seconds", "3", "--json"]);
    // Neither the first nor the witness sends it.
    until("the second protocol has begun", || {
        let stats: String = cmd("INFO").arg("commandstats").query(&mut server.connect()).unwrap();
        stats.contains("cmdstat_setnx:").then_some(())
    });
    running.signal(Signal::INT);
    let ended = running.done();
    assert_eq!(ended.code, Some(128 + 2), "{ended:?}");
    assert_eq!(ended.stderr, "lockshift: stopped: 1 of 2 protocols were compared\n");
    let json = ended.json();
    assert_eq!((json.as_array().map(Vec::len), json[0]["protocol"].as_str()), (Some(1), Some("token")), "{json}");
}

/// Everybody wins, always: what a witness must not miss.
struct NoExclusion {
    key: Key,
    lease: Lease,
}

impl Locker for NoExclusion {
    fn key(&self) -> &Key {
        &self.key
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let since = redis.clock()?;
        let value = owner.token.hex().into_bytes();
        redis.set(&Set::new(&self.key, &value).expiry(Expiry::Px(self.lease.length())))?;
        Ok(Acquired::Won(Hold { value, since, lease: self.lease, fence: None }))
    }

    fn release(&self, _: &Hold, redis: &mut Transcript) -> Turn<Released> {
        Ok(if redis.del(&self.key)? { Released::Freed } else { Released::Lost })
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::MayFreeAnother
    }

    fn extend(&self, _: &Hold, _: &mut Transcript) -> Turn<Extended> {
        Ok(Extended::Unsupported)
    }

    fn ownership(&self, _: &Hold, _: &mut Transcript) -> Turn<Ownership> {
        Ok(Ownership::Indistinct { left: None })
    }
}

fn figures(server: &Server, clients: usize, crash: &str) -> Statistics {
    let workload = Workload {
        clients,
        length: Duration::from_millis(500),
        hold: Duration::from_millis(2),
        lease: Lease::new(Duration::from_secs(2)).unwrap(),
        wait: Wait::backoff(),
        overrun: Percent::default(),
        crash: crash.parse().unwrap(),
    };
    let course = Settings { workload: &workload, stop: &CompareStop::new(), listener: None, progress: &|_, _| {} };
    let protocol = |key, lease| Arc::new(NoExclusion { key, lease }) as Arc<dyn Locker>;
    run(&course, protocol, || server.client().get_connection()).unwrap().expect("it was not stopped")
}

#[test]
fn a_lock_without_exclusion_is_caught() {
    let server = Server::start();
    let caught = figures(&server, 4, "0");
    assert!(caught.double_holds > 0 && caught.wrong_releases > 0, "{caught:?}");
    assert!(caught.busy_ratio > 1.0, "several at once: {caught:?}");
    assert_eq!(keys(&server), 0);
}

#[test]
fn a_client_that_is_alone_has_no_race() {
    // It wins each time, crash or not: what it does after a crash it does as a new client.
    for crash in ["0", "50"] {
        let alone = figures(&Server::start(), 1, crash);
        assert!(alone.acquisitions > 0, "{alone:?}");
        assert_eq!((alone.double_holds, alone.wrong_releases), (0, 0), "{crash} % crash: {alone:?}");
    }
}
