//! A foreign Redlock and ours on three masters: they exclude each other, also while one master is down.

use std::num::NonZeroU8;
use std::time::Duration;

use libtest_mimic::Trial;
use lockshift::driver::blocking::{Guard, Lock, Masters};
use lockshift::driver::{Answer, Attempt};
use lockshift::lock::{Lease, Released};
use lockshift::modern::Redlock;
use lockshift::wire::Key;

use crate::foreign::{Process, Session};
use crate::patience::{now, pause, until};
use crate::roster::{CLIENTS, Client};
use crate::server::Server;

/// The client that locks on several servers.
const CLIENT: &str = "redlock";
const KEY: &str = "k";
const SERVERS: NonZeroU8 = NonZeroU8::new(3).expect("three is not zero");

/// A lease that outlasts any scene.
const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_secs(2);

/// For how long a master is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Holds of every one of the four in contention.
const CYCLES: usize = 40;

type Play = fn(&mut Stage);

const SCENES: &[(&str, Play)] = &[
    ("three_masters_exclude_both_ways", exclude_both_ways),
    ("a_lease_on_three_masters_ends_for_both_sides", end_for_both_sides),
    ("two_of_three_masters_are_enough", two_are_enough),
    ("three_masters_under_contention", contend),
];

/// Three masters, and ours on all of them.
struct Stage {
    masters: Vec<Server>,
    client: &'static Client,
}

/// The scenes on three masters.
pub(crate) fn trials() -> impl Iterator<Item = Trial> {
    SCENES.iter().map(|(name, play)| {
        Trial::test(format!("with_{CLIENT}::{name}"), move || {
            let client = CLIENTS.iter().find(|client| client.name == CLIENT).expect("it stands in the roster");
            let masters = (0..SERVERS.get()).map(|_| Server::start()).collect();
            play(&mut Stage { masters, client });
            Ok(())
        })
    })
}

impl Stage {
    fn theirs(&self) -> Session {
        let ports: Vec<_> = self.masters.iter().map(|server| server.address().port()).collect();
        Process::on(self.client, &ports).session(self.client.name, 1)
    }

    fn ours(&self, lease: Duration) -> Lock<Masters> {
        let masters = Masters::new(self.masters.iter().map(Server::client), PATIENCE);
        Lock::new(masters, Redlock::new(Key::from(KEY), Lease::new(lease).expect("a lease"), SERVERS))
    }

    /// On how many masters the key is.
    fn copies(&self) -> usize {
        let has = |server: &&Server| redis::cmd("EXISTS").arg(KEY).query(&mut server.connect()).expect("it is up");
        self.masters.iter().filter(has).count()
    }
}

/// One attempt.
fn won(ours: &Lock<Masters>) -> Option<Guard<Masters>> {
    match ours.try_acquire().unwrap_or_else(|error| panic!("{error}")) {
        Attempt::Won(guard) => Some(guard),
        Attempt::Held(_) | Attempt::TooLate => None,
        Attempt::Unknown(_) => panic!("the servers answer"),
    }
}

fn release(guard: Guard<Masters>) {
    let released = guard.release().expect("the servers answer");
    assert!(matches!(released, Answer::Known(Released::Freed)), "we hold it: {released:?}");
}

fn exclude_both_ways(stage: &mut Stage) {
    let (theirs, ours) = (stage.theirs(), stage.ours(LONG));
    for _ in 0..3 {
        assert!(theirs.acquires("redlock", KEY, LONG), "the lock is free");
        assert_eq!(stage.copies(), 3, "it is on every master");
        assert!(won(&ours).is_none(), "they hold it");
        assert_eq!(stage.copies(), 3, "a refused attempt deletes nothing of theirs");
        theirs.release(KEY);
        let guard = won(&ours).expect("they have released it");
        assert_eq!(stage.copies(), 3, "it is on every master");
        assert!(!theirs.acquires("redlock", KEY, LONG), "we hold it");
        until("their refused attempt has deleted nothing of ours", || (stage.copies() == 3).then_some(()));
        release(guard);
        until("we have released it everywhere", || (stage.copies() == 0).then_some(()));
    }
}

fn end_for_both_sides(stage: &mut Stage) {
    let (theirs, ours) = (stage.theirs(), stage.ours(SHORT));
    let began = now();
    assert!(theirs.acquires("redlock", KEY, SHORT), "the lock is free");
    let (attempted, guard) = until("their lease has ended", || {
        pause(Duration::from_millis(5));
        let attempted = now();
        won(&ours).map(|guard| (attempted, guard))
    });
    assert!(attempted.duration_since(began) >= SHORT, "taken over before their lease ended");
    guard.abandon();
    until("our lease has ended", || theirs.acquires("redlock", KEY, SHORT).then_some(()));
    assert!(attempted.elapsed() >= SHORT, "taken over before our lease ended");
}

fn two_are_enough(stage: &mut Stage) {
    let (theirs, ours) = (stage.theirs(), stage.ours(LONG));
    assert!(theirs.acquires("redlock", KEY, LONG), "the client is connected");
    theirs.release(KEY);
    stage.masters[1].kill();
    assert!(theirs.acquires("redlock", KEY, LONG), "two masters are a majority");
    assert!(won(&ours).is_none(), "they hold it on two masters");
    theirs.ask(&format!("release {KEY}"));
    let guard = until("they have released it", || won(&ours));
    assert!(!theirs.acquires("redlock", KEY, LONG), "we hold it on two masters");
    release(guard);
}

/// Two of theirs and two of ours, counted by a witness on the first master.
fn contend(stage: &mut Stage) {
    let question = format!("work redlock {KEY} witness {CYCLES} 1 {}", LONG.as_millis());
    let theirs = [(); 2].map(|()| stage.theirs());
    for session in &theirs {
        session.ask("version");
        session.begin(&question);
    }
    let stage = &*stage;
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let (ours, mut witness) = (stage.ours(LONG), stage.masters[0].connect());
                let mut holds = 0;
                while holds < CYCLES {
                    if let Some(guard) = won(&ours) {
                        let inside: i64 = redis::cmd("INCR").arg("witness").query(&mut witness).expect("it is up");
                        assert_eq!(inside, 1, "another client is inside");
                        pause(Duration::from_millis(1));
                        redis::cmd("DECR").arg("witness").exec(&mut witness).expect("it is up");
                        release(guard);
                        holds += 1;
                    }
                    pause(Duration::from_micros(500 + u64::from(now().elapsed().subsec_nanos()) % 3000));
                }
            });
        }
        for session in &theirs {
            assert_eq!(session.answer(&question), format!("worked {CYCLES} 0 0"), "no double hold, no overrun");
        }
    });
}
