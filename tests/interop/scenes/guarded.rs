//! Real clients, unchanged, behind `lockshift guard`: they exclude each other and unguarded ones, take over what has
//! expired, and delete no lock but their own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lockshift::guard::{Lifetime, Rule};
use lockshift::legacy::{Dialect, Takeover};
use lockshift::lock::{Owner, Token};
use lockshift::protocols::find;
use lockshift::wire::UnixTime;

use super::{LONG, Part, SceneApart};
use crate::ours::Ours;
use crate::patience::{now, pause, until};
use crate::roster::{CLIENTS, Client, Spoken};
use crate::testbed::SceneSession;

/// A lease that every protocol can say.
const SHORT: Duration = Duration::from_secs(1);

pub(super) const SCENES: &[SceneApart] = &[
    SceneApart { name: "guarded_clients_exclude_each_other", play: exclude_each_other },
    SceneApart { name: "guarded_and_unguarded_clients_exclude_each_other", play: exclude_unguarded_ones },
    SceneApart { name: "a_guarded_client_takes_over_and_loses_nothing_to_a_late_release", play: take_over },
    SceneApart { name: "a_guarded_fleet_never_holds_twice", play: contend },
];

/// The clients with the old protocols that can be guarded.
pub(crate) fn rows() -> impl Iterator<Item = (&'static Client, Spoken)> {
    let spoken = CLIENTS.iter().flat_map(|client| client.speaks.iter().map(move |spoken| (client, *spoken)));
    spoken.filter(|(_, spoken)| {
        let dialect = find(spoken.protocol).ok().and_then(|protocol| protocol.dialect());
        dialect.is_some_and(|dialect| Rule::new(&[dialect], Lifetime::BeyondStamp).is_ok())
    })
}

/// Two sessions with a client behind the guard.
fn two<'a>(part: &Part<'a>) -> [SceneSession<'a>; 2] {
    [(); 2].map(|()| part.testbed.session_on(part.client, part.testbed.guard().port()))
}

fn exclude_each_other(part: &Part<'_>) {
    let (key, protocol, [one, other]) = (part.key("k"), part.spoken.protocol, two(part));
    for _ in 0..3 {
        assert!(one.acquires(protocol, &key, LONG), "the lock is free");
        for _ in 0..3 {
            assert!(!other.acquires(protocol, &key, LONG), "it is held");
        }
        let ttl: i64 = redis::cmd("PTTL").arg(&key).query(&mut part.testbed.connect()).unwrap();
        assert!(ttl > 0, "the guard gives it a time to live: PTTL {ttl}");
        one.release(&key);
        assert!(other.acquires(protocol, &key, LONG), "it was released");
        other.release(&key);
    }
}

fn exclude_unguarded_ones(part: &Part<'_>) {
    let (key, protocol, [theirs, _]) = (part.key("k"), part.spoken.protocol, two(part));
    let ours = Ours::new(part.testbed, part.spoken, &key, LONG);
    for _ in 0..3 {
        assert!(theirs.acquires(protocol, &key, LONG), "the lock is free");
        assert!(ours.acquire().is_none(), "the guarded client holds it");
        theirs.release(&key);
        let guard = ours.acquire().expect("the guarded client has released it");
        assert!(!theirs.acquires(protocol, &key, LONG), "the unguarded client holds it");
        drop(guard);
    }
}

fn take_over(part: &Part<'_>) {
    let (key, protocol, [late, next]) = (part.key("k"), part.spoken.protocol, two(part));
    let value = || -> Option<Vec<u8>> { redis::cmd("GET").arg(&key).query(&mut part.testbed.connect()).unwrap() };
    let began = now();
    assert!(late.acquires(protocol, &key, SHORT), "the lock is free");
    let first = value();
    until("the expired lock is taken over", || {
        pause(Duration::from_millis(5));
        next.acquires(protocol, &key, LONG).then_some(())
    });
    assert!(began.elapsed() >= SHORT, "taken over before its lease ended");
    let second = value();
    assert!(second.is_some() && second != first, "{first:?}, {second:?}");
    // Whatever it answers to its caller: the lock is another client's.
    late.ask(&format!("release {key}"));
    assert_eq!(value(), second, "a late release deletes the lock of another client");
    next.release(&key);
    assert_eq!(value(), None, "its own release deletes it");
}

/// Holders of four clients, on a key into which an expired lock is put again and again.
fn contend(part: &Part<'_>) {
    let (doubles, overruns) = double_holds(part, part.testbed.guard().port(), "guarded", 60);
    assert!(doubles == 0 || overruns > 0, "{doubles} double holds, {overruns} overruns");
    if part.spoken.protocol == "php-del-takeover" {
        // The witness can fail: without a guard the same clients hold twice.
        let doubled = (0..20).any(|round| double_holds(part, part.testbed.port(), &format!("alone{round}"), 60).0 > 0);
        assert!(doubled, "no double hold without a guard");
    }
}

/// How often two clients held at once, by a counter that the locks do not know, and how often one overran its lease.
fn double_holds(part: &Part<'_>, port: u16, what: &str, cycles: usize) -> (usize, usize) {
    const LEASE: Duration = Duration::from_secs(5);
    let (key, witness) = (part.key(what), part.key(&format!("{what}-witness")));
    let question = format!("work {} {key} {witness} {cycles} 1 {}", part.spoken.protocol, LEASE.as_millis());
    let sessions = [(); 4].map(|()| part.testbed.session_on(part.client, port));
    for session in &sessions {
        session.ask("version");
        session.begin(&question);
    }
    let expired = expired(part.spoken);
    let mut crashes = part.testbed.connect();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // A client that never takes over would wait for it for ever.
            let takes_over = dialect(part.spoken).takeover != Takeover::Never;
            while takes_over && !is_done.load(Ordering::Relaxed) {
                redis::cmd("SET").arg(&key).arg(&expired).arg("NX").exec(&mut crashes).unwrap();
                pause(Duration::from_millis(2));
            }
        });
        let mut sums = (0, 0);
        for session in &sessions {
            let answer = session.answer(&question);
            let numbers: Vec<usize> = answer.split(' ').skip(1).filter_map(|word| word.parse().ok()).collect();
            let [_, doubles, overruns] = numbers[..] else {
                is_done.store(true, Ordering::Relaxed);
                panic!("it did not work: {answer}")
            };
            sums = (sums.0 + doubles, sums.1 + overruns);
        }
        is_done.store(true, Ordering::Relaxed);
        sums
    })
}

/// What a client of this protocol left that crashed long ago.
fn expired(spoken: Spoken) -> Vec<u8> {
    let dialect = dialect(spoken);
    let long_ago = UnixTime::from_secs(1_600_000_000).unwrap();
    dialect.form.write(dialect.form.stamp.at(long_ago, SHORT), &Owner::new(Token::new([5; 16]), 5, 5))
}

fn dialect(spoken: Spoken) -> &'static Dialect {
    find(spoken.protocol).unwrap().dialect().expect("only old protocols are guarded")
}
