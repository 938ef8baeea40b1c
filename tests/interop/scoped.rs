//! This project's packages in other languages: waiting with a timeout, the scoped form with its renewal, and what it throws
//! when the lock is lost; and the tests that each package brings along.

use std::process::Command as Program;
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::Trial;
use lockshift::wire::{Command, Reply};

use crate::foreign::{Session, own_tests};
use crate::ours::Ours;
use crate::patience::{pause, until};
use crate::roster::{CLIENTS, Client, Spoken};
use crate::scenes::word;
use crate::testbed::Testbed;
use crate::wire::Redis;

/// One of each language: the Redis client underneath does not matter here.
const SCOPED: &[&str] = &["lockshift-phpredis", "lockshift-python", "lockshift-node", "lockshift-jedis"];

/// Those that bring tests of their own, one for each Redis client that the tests are made for.
const WITH_TESTS: &[&str] =
    &["lockshift-phpredis", "lockshift-predis", "lockshift-python", "lockshift-node", "lockshift-jedis"];

/// Renewed after a third of it, with room for a busy machine.
const LEASE: Duration = Duration::from_secs(5);
const LONG: Duration = Duration::from_secs(600);

/// Its trials, for every package.
pub(crate) fn trials(testbed: &Arc<Testbed>) -> impl Iterator<Item = Trial> + use<> {
    let scoped = trials_of(SCOPED, "waits_until_its_timeout", waits_until_its_timeout, testbed)
        .chain(trials_of(SCOPED, "scoped_form_is_renewed", scoped_form_is_renewed, testbed))
        .chain(trials_of(SCOPED, "scoped_form_ends_with_a_loss", scoped_form_ends_with_a_loss, testbed));
    trials_of(WITH_TESTS, "its_own_tests", its_own_tests, testbed).chain(scoped)
}

fn trials_of(
    names: &'static [&'static str],
    what: &'static str,
    play: fn(&Testbed, &'static Client),
    testbed: &Arc<Testbed>,
) -> impl Iterator<Item = Trial> + use<> {
    let testbed = Arc::clone(testbed);
    names.iter().map(move |name| {
        let testbed = Arc::clone(&testbed);
        Trial::test(format!("with_{}::{what}", word(name)), move || {
            play(&testbed, CLIENTS.iter().find(|client| client.name == *name).expect("it stands in the roster"));
            Ok(())
        })
    })
}

/// A lock, a session with the client that uses it, and a connection that looks on.
struct Scene<'a> {
    testbed: &'a Testbed,
    spoken: Spoken,
    session: Session,
    server: redis::Connection,
    key: String,
    /// Ends the work.
    end: String,
}

impl<'a> Scene<'a> {
    /// One for each protocol of the package: the token and the bridge.
    fn each(testbed: &'a Testbed, client: &'static Client, scene: &str) -> impl Iterator<Item = Self> {
        client.speaks.iter().map(move |spoken| {
            let key = format!("scoped.{}.{}.{scene}", client.name, word(&spoken.label()));
            let (session, server, end) = (testbed.lone_session(client), testbed.connect(), format!("{key}.end"));
            Self { testbed, spoken: *spoken, session, server, key, end }
        })
    }

    /// Ours on the same key.
    fn ours(&self) -> Ours {
        Ours::new(self.testbed, self.spoken, &self.key, LONG)
    }

    /// The key of the token.
    fn token_key(&self) -> String {
        if self.is_bridge() { format!("{{{}}}:token", self.key) } else { self.key.clone() }
    }

    fn is_bridge(&self) -> bool {
        self.spoken.protocol.starts_with("bridge:")
    }

    fn question(&self) -> String {
        format!("hold {} {} {} {}", self.spoken.protocol, self.key, LEASE.as_millis(), self.end)
    }

    /// Begins the scoped form, and waits until the lock is held.
    fn begin(&mut self) {
        // A machine that is slow to start it has longer for that than for a lock.
        self.session.ask("version");
        self.session.begin(&self.question());
        let key = self.token_key();
        until("the package acquires the lock", || self.exists(&key).then_some(()));
    }

    fn exists(&mut self, key: &str) -> bool {
        self.server.call(&Command::new("EXISTS").arg(key)) == Reply::Int(1)
    }

    fn set(&mut self, key: &str, value: &str) {
        self.server.call(&Command::new("SET").arg(key).arg(value));
    }

    fn answer(&self) -> String {
        self.session.answer(&self.question())
    }
}

fn waits_until_its_timeout(testbed: &Testbed, client: &'static Client) {
    for scene in Scene::each(testbed, client, "waits") {
        let question = |patience_ms| format!("lock {} {} {} {patience_ms}", scene.spoken.protocol, scene.key, 600_000);
        let guard = scene.ours().acquire().expect("the lock is free");
        assert_eq!(scene.session.ask(&question(100)), "held", "{}", scene.spoken.protocol);
        scene.session.begin(&question(60_000));
        drop(guard);
        assert_eq!(scene.session.answer("lock"), "won", "{}", scene.spoken.protocol);
        assert!(scene.ours().acquire().is_none(), "the package holds it");
        scene.session.release(&scene.key);
    }
}

fn scoped_form_is_renewed(testbed: &Testbed, client: &'static Client) {
    let mut scenes: Vec<_> = Scene::each(testbed, client, "renewed").collect();
    scenes.iter_mut().for_each(Scene::begin);
    pause(LEASE + Duration::from_millis(100));
    for scene in &mut scenes {
        assert!(scene.ours().acquire().is_none(), "{}: it is held beyond its first lease", scene.spoken.protocol);
        let end = scene.end.clone();
        scene.set(&end, "1");
        assert_eq!(scene.answer(), "done", "{}", scene.spoken.protocol);
        assert!(scene.ours().acquire().is_some(), "{}: it was released", scene.spoken.protocol);
    }
}

/// Nothing ends the work here but the renewal, which finds that the lock is lost.
fn scoped_form_ends_with_a_loss(testbed: &Testbed, client: &'static Client) {
    let mut lost: Vec<_> = Scene::each(testbed, client, "lost").collect();
    let mut intruded: Vec<_> = Scene::each(testbed, client, "intruded").filter(Scene::is_bridge).collect();
    for scene in &mut lost {
        scene.begin();
        let key = scene.token_key();
        scene.set(&key, "another client's");
    }
    for scene in &mut intruded {
        scene.begin();
        let key = scene.key.clone();
        scene.set(&key, "1");
    }
    for (scenes, expected) in [(&mut lost, "lost"), (&mut intruded, "intruded")] {
        for scene in scenes {
            assert_eq!(scene.answer(), expected, "{}", scene.spoken.protocol);
        }
    }
}

fn its_own_tests(testbed: &Testbed, client: &'static Client) {
    let output = Program::new(own_tests(client.name))
        .env("REDIS_URL", testbed.server().url())
        .output()
        .expect("the package's tests can be started");
    let shown = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{shown}");
}
