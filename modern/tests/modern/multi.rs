//! A lock on several keys: which keys are accepted, and how replies for several keys combine.

use std::time::Duration;

use lockshift_lock::{Acquired, Extended, Held, Locker, Ownership, Refusal, Released};
use lockshift_modern::{MultiKeyError, MultiKeyLock};
use lockshift_wire::Key;

use crate::dialogue::{hold, lease, owner, play};

fn lock() -> MultiKeyLock {
    MultiKeyLock::new(["{k}a", "{k}b", "{k}a"].map(Key::from), lease(10_000)).unwrap()
}

#[test]
fn keys_of_one_slot_are_locked_together() {
    assert_eq!(lock().keys(), ["{k}a", "{k}b"].map(Key::from), "each once");
    let refused = MultiKeyLock::new(["{k}a", "{k}b", "b"].map(Key::from), lease(10_000)).unwrap_err();
    assert_eq!(refused, MultiKeyError::DifferentSlots { one: "{k}a".into(), other: "b".into() });
    assert_eq!(
        refused.to_string(),
        "`{k}a` and `b` are in different hash slots (7629 and 3300): one command cannot lock both. \
         Give them a common {hash tag}"
    );
    assert_eq!(MultiKeyLock::new([], lease(10_000)).unwrap_err(), MultiKeyError::NoKey);
}

#[test]
fn all_keys_are_acquired_or_none() {
    let ended = |answer| {
        let dialogue = format!("clock -> 5\nEVALSHA <multi/acquire> 2 {{k}}a {{k}}b <token> 10000 -> {answer}");
        play(&dialogue, |redis| lock().acquire(&owner(), redis))
    };
    let later = Held { retry_in: Some(Duration::from_millis(70)), ..Held::because(Refusal::Live) };
    assert_eq!(ended("-1"), Ok(Acquired::Won(hold(5, 10_000))));
    assert_eq!(ended("70"), Ok(Acquired::Held(later)));
}

#[test]
fn a_loss_on_one_key_loses_the_lock() {
    for (answer, released) in [("2", Released::Freed), ("1", Released::Lost), ("0", Released::Lost)] {
        let dialogue = format!("EVALSHA <multi/release> 2 {{k}}a {{k}}b <token> -> {answer}");
        assert_eq!(play(&dialogue, |redis| lock().release(&hold(0, 10_000), redis)), Ok(released));
    }
    for (answer, extended) in [("1", Extended::Until(hold(7, 10_000))), ("0", Extended::Lost)] {
        let dialogue = format!("clock -> 7\nEVALSHA <multi/extend> 2 {{k}}a {{k}}b <token> 10000 -> {answer}");
        assert_eq!(play(&dialogue, |redis| lock().extend(&hold(0, 10_000), redis)), Ok(extended));
    }
}

#[test]
fn ownership_reports_the_worst_key() {
    let (mine, theirs, none) = ("\"<token>\"", "\"theirs\"", "(nil)");
    let ours = Ownership::Ours { left: Some(Duration::from_millis(50)) };
    let table = [
        ((50, mine), Some((90, mine)), ours),
        ((90, mine), Some((50, mine)), ours),
        ((50, mine), Some((90, theirs)), Ownership::Theirs),
        ((50, theirs), None, Ownership::Theirs),
        ((-2, none), Some((90, mine)), Ownership::Free),
        ((-2, none), Some((90, theirs)), Ownership::Theirs),
    ];
    for (first, second, expected) in table {
        let look = |key, (ttl, value)| format!("PTTL {key} -> {ttl}\nGET {key} -> {value}\n");
        let dialogue = look("{k}a", first) + &second.map(|second| look("{k}b", second)).unwrap_or_default();
        assert_eq!(play(&dialogue, |redis| lock().ownership(&hold(0, 10_000), redis)), Ok(expected), "{dialogue}");
    }
}

#[test]
fn disclaim_deletes_the_token_on_every_key() {
    let command = "EVALSHA <multi/release> 2 {k}a {k}b <token> -> 1";
    assert_eq!(play(command, |redis| lock().disclaim(&owner(), redis)), Ok(()));
}
