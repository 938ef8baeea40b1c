//! Traces that begin in the middle of things: a client holds a lock, and nothing is known of it.

use std::fmt::Write;
use std::time::Duration;

use lockshift::audit::{Audit, Certainty};
use lockshift::driver::Attempt;
use lockshift::driver::blocking::Lock;
use lockshift::lock::Lease;
use lockshift::protocols::Choice;
use lockshift::race_id::RaceId;
use lockshift::wire::{Key, script_file};
use redis::Connection;

use super::written::audit;
use crate::monitor::{Line, Monitor};
use crate::server::Server;

/// A round of each client of a lock that `acquires`, and is released by a script that lists these calls. Before the trace
/// began one of them had acquired it.
fn rounds(acquires: &str, release: (&str, &[&str])) -> Audit {
    let (mut text, mut at) = (String::new(), 0);
    let mut says = |source: &str, words: &str| {
        at += 1;
        let _ = writeln!(text, "1700000000.{at:06} [0 {source}] {words}");
    };
    let client = |who: u32| format!("10.0.0.{who}:1");
    let token = |who: u32| format!("a{who:031x}");
    let releases = |says: &mut dyn FnMut(&str, &str), who: u32| {
        says(&client(who), &release.0.replace("TOKEN", &token(who)));
        release.1.iter().for_each(|call| says("lua", call));
    };
    let acquire = |who: u32| acquires.replace("TOKEN", &token(who));
    says(&client(2), &acquire(2));
    releases(&mut says, 1);
    for who in [3, 2, 1, 3, 2, 1] {
        says(&client(who), &acquire(who));
        says(&client(who % 3 + 1), &acquire(who % 3 + 1));
        releases(&mut says, who);
    }
    audit(&text)
}

/// What a script is listed to delete is deleted, whichever client was taken to hold it.
#[test]
fn a_refused_client_is_not_taken_for_the_holder_for_a_whole_lease() {
    const ACQUIRE: &str = r#""SET" "lock" "TOKEN" "NX" "PX" "30000""#;
    let text =
        script_file!("../../../modern/src/lua/announced/release.lua").text().replace('\n', "\\n").replace('"', "\\\"");
    let release = format!(r#""EVAL" "{text}" "2" "lock" "{{lock}}:released" "TOKEN" "publish""#);
    let calls = [r#""get" "lock""#, r#""del" "lock""#, r#""publish" "{lock}:released" "0""#];
    let audit = rounds(ACQUIRE, (&release, &calls));
    assert!(audit.findings.is_empty(), "{:#?}", audit.findings);
    let [lock] = audit.locks.as_slice() else { panic!("one lock: {:#?}", audit.locks) };
    // The first one was not an acquisition: that is found out, and it was no more than likely.
    assert_eq!((lock.statistics.acquisitions, lock.statistics.releases), (7, 6), "{lock:#?}");
}

const HELD: [&str; 13] = [
    "token",
    "token,announce=publish",
    "token-fenced",
    "fair",
    "reentrant",
    "redisson",
    "redisson,kind=fenced",
    "redisson,kind=fair",
    "bridge:php-getset",
    "php-getset",
    "jedis-lock",
    "java-getset",
    "redis-py-2.8",
];

fn lock(server: &Server, written: &str) -> Lock<Connection> {
    let choice: Choice = written.parse().unwrap();
    let lease = Lease::new(Duration::from_secs(3600)).unwrap();
    Lock::new(server.connect(), choice.locker(Key::from(format!("{{{written}}}").as_str()), lease))
}

/// Tries as another client does, and releases at once.
fn comes_by(lock: &Lock<Connection>) -> bool {
    let tries = || match lock.try_acquire().unwrap() {
        Attempt::Won(guard) => guard.release().is_ok(),
        Attempt::Held(_) | Attempt::TooLate => false,
        Attempt::Unknown(unknown) => panic!("{unknown}"),
    };
    std::thread::scope(|scope| scope.spawn(tries).join().unwrap())
}

/// On a real server, for an hour: two come by in vain, the holder goes, and both come by again and again.
#[test]
fn a_holder_from_before_the_trace_is_no_race_and_hides_no_client() {
    let server = Server::start();
    let locks: Vec<_> = HELD.iter().map(|written| [(); 3].map(|()| lock(&server, written))).collect();
    let guards: Vec<_> = locks.iter().map(|[alice, ..]| alice.try_acquire().unwrap()).collect();
    let mut monitor = Monitor::on(&server);
    for ([_, bob, carol], guard) in locks.iter().zip(guards) {
        assert!(!comes_by(bob) && !comes_by(carol));
        let Attempt::Won(guard) = guard else { panic!("no other client is about") };
        let _ = guard.release().unwrap();
        assert!(comes_by(bob) && comes_by(carol) && comes_by(bob));
    }
    let audit = audit(&monitor.take().iter().map(Line::listed).collect::<String>());
    assert!(audit.findings.is_empty(), "{:#?}", audit.findings);
    for written in HELD {
        let key = format!("{{{written}}}");
        let lock = audit.locks.iter().find(|lock| lock.key.as_bytes() == key.as_bytes());
        let tally = &lock.unwrap_or_else(|| panic!("{written}: nothing is known of it")).statistics;
        // Who was refused first may be taken for the holder, until the holder goes.
        assert!((3..=4).contains(&tally.acquisitions) && tally.releases >= 3, "{written}: {tally:#?}");
    }
}

/// What clients of this protocol are found to do on a key that is not yet known, as it is listed.
fn listed(lines: &[(u64, u32, &str)]) -> Audit {
    let mut text = String::new();
    for (place, (secs, who, words)) in lines.iter().enumerate() {
        let _ = writeln!(text, "{}.{place:06} [0 10.0.0.{who}:1] {words}", 1_700_000_000 + secs);
    }
    audit(&text)
}

/// The dialect of redis-mutex 2.1.1 sends GET before SETNX, so the GET of its release is not part of another attempt.
#[test]
fn a_look_before_the_first_claim_of_a_key_belongs_to_the_attempt() {
    let audit = listed(&[
        (0, 1, r#""GET" "lock""#),
        (0, 1, r#""SETNX" "lock" "1700000002.0""#),
        (3, 2, r#""GET" "lock""#),
        (3, 2, r#""GETSET" "lock" "1700000005.0""#),
        (3, 1, r#""GET" "lock""#),
        (3, 1, r#""GET" "lock""#),
        (3, 1, r#""GET" "lock""#),
    ]);
    let first = audit.episodes.iter().find(|episode| *episode.client == *"10.0.0.1:1").unwrap();
    assert_eq!(first.until.map(|until| until.as_nanos()), Some(1_700_000_003_000_004_000), "{:?}", audit.episodes);
    assert_eq!(audit.locks[0].statistics.overruns, 1);
}

/// redis-py 2.10 deletes under a WATCH that protects nothing. A client that is stopped there deletes another one's lock.
#[test]
fn a_deletion_under_a_watch_without_a_transaction_is_a_release() {
    let [one, two, three] = [1, 2, 3].map(|who| format!("a{who:031x}"));
    let claims = |token: &str| format!(r#""SETNX" "lock" "{token}""#);
    let expires = r#""PEXPIRE" "lock" "2000""#;
    let [watch, get, del, unwatch] = [r#""WATCH" "lock""#, r#""GET" "lock""#, r#""DEL" "lock""#, r#""UNWATCH""#];
    let audit = listed(&[
        (0, 1, &claims(&one)),
        (0, 1, expires),
        (1, 1, watch),
        (1, 1, get),
        (1, 1, del),
        (1, 2, &claims(&two)),
        (1, 2, expires),
        (1, 1, unwatch),
        (2, 2, watch),
        (2, 2, get),
        (4, 3, &claims(&three)),
        (4, 3, expires),
        (4, 2, del),
        (4, 1, &claims(&one)),
        (4, 1, expires),
        (4, 2, unwatch),
    ]);
    let statistics = &audit.locks[0].statistics;
    assert_eq!((statistics.acquisitions, statistics.multiplexed), (4, 0));
    let found: Vec<_> = audit.findings.iter().map(|it| (it.verdict.race, it.verdict.certainty)).collect();
    assert_eq!(found, [(Some(RaceId::CheckThenDel), Certainty::Certain)], "{:#?}", audit.findings);
}

/// Bob waits for the fair lock, and Alice's release hands it over. Whether he hears of it by the message or by another attempt,
/// he holds it from then on until he releases.
#[test]
fn a_lock_that_is_handed_over_is_acquired_by_its_waiter() {
    for tries_again in [false, true] {
        let audit = handed_over(&FAIR, tries_again);
        assert!(audit.findings.is_empty(), "{:#?}", audit.findings);
        let [lock] = audit.locks.as_slice() else { panic!("one lock: {:#?}", audit.locks) };
        let statistics = &lock.statistics;
        assert_eq!((statistics.acquisitions, statistics.releases, statistics.unrecognised), (2, 2, 0), "{lock:#?}");
        assert!(statistics.refusals >= 1, "{lock:#?}");
    }
}

/// The scripts of the fair lock by their hashes, and the last word of a release.
struct Sent {
    acquire: String,
    leave: String,
    lease: &'static str,
}

static FAIR: std::sync::LazyLock<Sent> = std::sync::LazyLock::new(|| Sent {
    acquire: script_file!("../../../modern/src/lua/fair/acquire.lua").sha1_hex().to_owned(),
    leave: script_file!("../../../modern/src/lua/fair/leave.lua").sha1_hex().to_owned(),
    lease: r#" "30000""#,
});

const KEYS: &str = r#""3" "lock" "{lock}:queue" "{lock}:places""#;

/// Alice acquires, Bob is refused, Alice hands the lock over, and Bob releases.
fn handed_over(sent: &Sent, tries_again: bool) -> Audit {
    let [alice, bob] = ["a", "b"].map(|name| name.repeat(32));
    let place = r#""30000" "5000" "PUBLISH" "{lock}:bell:""#;
    let tries = |token: &str| format!(r#""EVALSHA" "{}" {KEYS} "{token}" "{token}:{token}" {place}"#, sent.acquire);
    let leaves = |token: &str| {
        format!(
            r#""EVALSHA" "{}" {KEYS} "{token}" "{token}" "5000" "PUBLISH" "{{lock}}:bell:"{}"#,
            sent.leave, sent.lease
        )
    };
    let set = |token: &str| format!(r#""set" "lock" "{token}" "px" "30000""#);
    let mut text = String::new();
    let mut place = 0;
    let mut list = |source: &str, words: &str| {
        place += 1;
        let _ = writeln!(text, "{}.{place:06} [0 {source}] {words}", 1_700_000_000 + 100 + place);
    };
    let get = r#""get" "lock""#;
    list("10.0.0.1:1", &tries(&alice));
    list("lua", get);
    list("lua", &set(&alice));
    list("10.0.0.2:1", &tries(&bob));
    list("lua", get);
    list("10.0.0.1:1", &leaves(&alice));
    list("lua", get);
    list("lua", r#""del" "lock""#);
    list("lua", &set(&bob));
    if tries_again {
        list("10.0.0.2:1", &tries(&bob));
        list("lua", get);
        list("lua", r#""pexpire" "lock" "30000""#);
    }
    list("10.0.0.2:1", &leaves(&bob));
    list("lua", get);
    list("lua", r#""del" "lock""#);
    audit(&text)
}

/// A waiter of an earlier version leaves without saying for how long it would have held.
#[test]
fn a_release_of_an_earlier_version_is_known() {
    let earlier = Sent { leave: "59d8635c9890da25083e4383172cc385a0a01616".to_owned(), lease: "", ..sent_today() };
    let audit = handed_over(&earlier, true);
    assert_eq!(audit.locks.iter().map(|lock| lock.statistics.unrecognised).sum::<u64>(), 0, "{:#?}", audit.locks);
}

fn sent_today() -> Sent {
    let Sent { acquire, leave, lease } = &*FAIR;
    Sent { acquire: acquire.clone(), leave: leave.clone(), lease }
}

/// On a real server: a waiter that gives up leaves the queue, and that is no attempt.
#[test]
fn a_waiter_that_gives_up_is_known() {
    let server = Server::start();
    let [alice, bob] = [(); 2].map(|()| lock(&server, "fair"));
    let mut monitor = Monitor::on(&server);
    let Ok(Attempt::Won(guard)) = alice.try_acquire() else { panic!("it is free") };
    assert!(!comes_by(&bob) && !comes_by(&bob));
    let _ = guard.release().unwrap();
    assert!(comes_by(&bob));
    let audit = audit(&monitor.take().iter().map(Line::listed).collect::<String>());
    let [lock] = audit.locks.as_slice() else { panic!("one lock: {:#?}", audit.locks) };
    let statistics = &lock.statistics;
    assert_eq!((statistics.acquisitions, statistics.refusals, statistics.unrecognised), (2, 2, 0), "{lock:#?}");
}
