//! Real clients, unchanged, behind a guard that observes, and behind one in bridge mode.

use std::time::Duration;

use lockshift::bridge::new_key;
use lockshift::driver::Attempt;
use lockshift::driver::blocking::Lock;
use lockshift::lock::Lease;
use lockshift::modern::TokenLock;

use super::{LONG, Part, SceneApart};
use crate::patience::until;
use crate::testbed::SceneSession;

pub(super) const SCENES: &[SceneApart] = &[
    SceneApart { name: "an_observed_client_is_unchanged_and_seen", play: observed },
    SceneApart { name: "behind_a_bridging_guard_old_and_new_clients_exclude_each_other", play: bridged },
];

/// Two sessions with a client on this port.
fn two<'a>(part: &Part<'a>, port: u16) -> [SceneSession<'a>; 2] {
    [(); 2].map(|()| part.testbed.session_on(part.client, port))
}

/// One holder and one waiter: each acquisition and refusal is in the events, and no race is found.
fn observed(part: &Part<'_>) {
    let (guard, path) = part.testbed.observer();
    let (key, protocol, [holder, waiter]) = (part.key("k"), part.spoken.protocol, two(part, guard.port()));
    assert!(holder.acquires(protocol, &key, LONG), "the lock is free");
    assert!(!waiter.acquires(protocol, &key, LONG), "it is held");
    holder.release(&key);
    assert!(waiter.acquires(protocol, &key, LONG), "it was released");
    waiter.release(&key);
    let direct: bool = redis::cmd("EXISTS").arg(&key).query(&mut part.testbed.connect()).unwrap();
    assert!(!direct, "the observed client deletes its key itself");

    let events: Vec<serde_json::Value> = until("the release is in the events", || {
        let text = std::fs::read_to_string(path).unwrap();
        let lines = text.lines().filter(|line| line.contains(&key));
        let events: Vec<serde_json::Value> = lines.filter_map(|line| serde_json::from_str(line).ok()).collect();
        let deleted = |event: &&serde_json::Value| event["reply"] == 1 || event["command"][0] == "EXEC";
        (events.iter().rev().take(3).any(|event| deleted(&event)) && events.len() >= 4).then_some(events)
    });
    let found: Vec<_> = events.iter().filter(|event| event["event"] == "finding").collect();
    assert!(found.is_empty(), "{found:?}");
}

/// An old client and one of the token lock on the new key.
fn bridged(part: &Part<'_>) {
    let port = part.testbed.bridging_guard().port();
    let (key, protocol, old) = (part.key("k"), part.spoken.protocol, part.testbed.session_on(part.client, port));
    let lease = Lease::new(Duration::from_secs(60)).expect("a minute is a lease");
    let token = Lock::new(part.testbed.connect(), TokenLock::new(new_key(&key.as_str().into()), lease));
    for _ in 0..3 {
        assert!(old.acquires(protocol, &key, LONG), "the lock is free");
        assert!(matches!(token.try_acquire().unwrap(), Attempt::Held(_)), "the old client holds it");
        old.release(&key);
        let Attempt::Won(guard) = token.try_acquire().unwrap() else { panic!("the old client has released it") };
        assert!(!old.acquires(protocol, &key, LONG), "the new client holds it");
        drop(guard);
    }
}
