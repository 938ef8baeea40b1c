//! The fair lock: the queue in its keys, the place of a waiter, and the way out of the queue.

use std::time::Duration;

use lockshift_lock::{Acquired, Extended, Held, Locker, Ownership, Refusal, Released};
use lockshift_modern::{FairLock, Publish};

use crate::dialogue::{hold, lease, owner, play};

fn lock() -> FairLock {
    FairLock::new("k".into(), lease(10_000))
}

const KEYS: &str = "3 k {k}:queue {k}:places";

#[test]
fn an_attempt_queues_for_the_time_of_a_place() {
    let table = [
        (lock(), "5000 PUBLISH"),
        (lock().keeping_places_for(lease(15_000)), "15000 PUBLISH"),
        (lock().announced(Publish::InSlot), "5000 SPUBLISH"),
    ];
    let later = |millis| Acquired::Held(Held { retry_in: Some(Duration::from_millis(millis)), ..refused() });
    for (lock, place) in table {
        let command = format!("EVALSHA <fair/acquire> {KEYS} <token> <token>:<token> 10000 {place} {{k}}:bell:");
        let ended = |answer| play(&format!("clock -> 5\n{command} -> {answer}"), |redis| lock.acquire(&owner(), redis));
        assert_eq!(ended("-1"), Ok(Acquired::Won(hold(5, 10_000))));
        assert_eq!((ended("0"), ended("70")), (Ok(later(0)), Ok(later(70))));
    }
}

fn refused() -> Held {
    Held::because(Refusal::Live)
}

#[test]
fn a_holder_leaves_by_its_token_and_a_waiter_by_its_place() {
    let leave = |member| format!("EVALSHA <fair/leave> {KEYS} <token> {member} 5000 PUBLISH {{k}}:bell: 10000");
    for (answer, released) in [("1", Released::Freed), ("0", Released::Lost)] {
        let dialogue = format!("{} -> {answer}", leave("<token>"));
        assert_eq!(play(&dialogue, |redis| lock().release(&hold(0, 10_000), redis)), Ok(released));
        let dialogue = format!("{} -> {answer}", leave("<token>:<token>"));
        assert_eq!(play(&dialogue, |redis| lock().withdraw(&owner(), redis)), Ok(()));
        assert_eq!(play(&dialogue, |redis| lock().disclaim(&owner(), redis)), Ok(()));
    }
}

#[test]
fn a_holder_extends_and_looks_as_with_a_token_lock() {
    let extended = "clock -> 7\nEVALSHA <extend> 1 k <token> 10000 -> 1";
    let until = Extended::Until(hold(7, 10_000));
    assert_eq!(play(extended, |redis| lock().extend(&hold(0, 10_000), redis)), Ok(until));
    let looked = "PTTL k -> 9500\nGET k -> \"<token>\"";
    let ours = Ownership::Ours { left: Some(Duration::from_millis(9_500)) };
    assert_eq!(play(looked, |redis| lock().ownership(&hold(0, 10_000), redis)), Ok(ours));
}

#[test]
fn a_message_with_its_token_and_a_time_hands_it_the_lock_for_so_long_after_its_wait_began() {
    let lock = lock();
    let token = owner().token.hex();
    let since = hold(5, 10_000).since;
    let granted = |message: &str| lock.granted(&owner(), since, message.as_bytes());
    assert_eq!(granted(&format!("{token}:12345")), Some(hold(5, 12_345)));
    for nothing in ["0", "", &token, &format!("{token}:"), &format!("{token}:0"), &format!("{token}:1 "), "a:1"] {
        assert_eq!(granted(nothing), None, "{nothing:?}");
    }
    assert_eq!(granted(&format!("{}:12345", token.replace(&token[..1], "x"))), None, "another waiter's");
}
