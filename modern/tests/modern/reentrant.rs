//! The re-entrant lock: the arguments and replies of its scripts, and its counts.

use std::time::Duration;

use lockshift_lock::{Acquired, Extended, Held, Hold, Locker, Owner, Ownership, Refusal, Released};
use lockshift_modern::ReentrantLock;

use crate::dialogue::{self, lease, owner, play};

fn lock() -> ReentrantLock {
    ReentrantLock::new("k".into(), lease(9_001))
}

/// What the owner holds: the field is named after it.
fn hold(since_ms: u64) -> Hold {
    Hold { value: owner().thread_name().into_bytes(), ..dialogue::hold(since_ms, 10_000) }
}

#[test]
fn an_owner_enters_for_whole_seconds() {
    assert_eq!(lock().lease(), lease(10_000));
    let ended = |answer| {
        let dialogue = format!("clock -> 5\nEVALSHA <reentrant/acquire> 1 k <me> 10 -> {answer}");
        play(&dialogue, |redis| lock().acquire(&owner(), redis))
    };
    assert_eq!(ended("1"), Ok(Acquired::Won(hold(5))));
    assert_eq!(ended("0"), Ok(Acquired::Held(Held::because(Refusal::Live))));
    assert!(ended("2").is_err());
}

#[test]
fn every_entry_of_a_fenced_lock_has_a_fence() {
    let ended = |answer| {
        let dialogue = format!("clock -> 5\nEVALSHA <reentrant/acquire_fenced> 2 k {{k}}:fence <me> 10 -> {answer}");
        play(&dialogue, |redis| lock().fenced().acquire(&owner(), redis))
    };
    assert_eq!(ended("7"), Ok(Acquired::Won(Hold { fence: Some(7), ..hold(5) })));
    assert_eq!(ended("0"), Ok(Acquired::Held(Held::because(Refusal::Live))));
    assert!(ended("-1").is_err() && ended("(error) NOFENCE the counter").is_err());
}

#[test]
fn a_release_reports_whether_it_was_the_last() {
    let table = [("(nil)", Released::Lost), ("0", Released::StillHeld), ("1", Released::Freed)];
    for (answer, meaning) in table {
        let dialogue = format!("EVALSHA <reentrant/release> 1 k <me> -> {answer}");
        assert_eq!(play(&dialogue, |redis| lock().release(&hold(0), redis)), Ok(meaning));
    }
}

#[test]
fn only_an_owner_that_has_entered_can_renew() {
    for (answer, meaning) in [("1", Extended::Until(hold(7))), ("0", Extended::Lost)] {
        let dialogue = format!("clock -> 7\nEVALSHA <reentrant/renew> 1 k <me> 10 -> {answer}");
        assert_eq!(play(&dialogue, |redis| lock().extend(&hold(0), redis)), Ok(meaning));
    }
}

#[test]
fn ownership_reads_the_field_of_the_owner() {
    let ours = Ownership::Ours { left: Some(Duration::from_millis(9_000)) };
    let table = [
        ("PTTL k -> 9000\nHEXISTS k <me> -> 1", ours),
        ("PTTL k -> 9000\nHEXISTS k <me> -> 0\nEXISTS k -> 1", Ownership::Theirs),
        ("PTTL k -> -2\nHEXISTS k <me> -> 0\nEXISTS k -> 0", Ownership::Free),
    ];
    for (dialogue, meaning) in table {
        assert_eq!(play(dialogue, |redis| lock().ownership(&hold(0), redis)), Ok(meaning));
    }
}

#[test]
fn an_entry_beyond_the_holds_of_the_thread_is_disclaimed() {
    let released = "EVALSHA <reentrant/release> 1 k <me> -> 0";
    let table = [
        (0, "HGET k <me> -> (nil)".to_owned()),
        (1, "HGET k <me> -> \"1\"".to_owned()),
        (0, format!("HGET k <me> -> \"1\"\nclock -> 0\n{released}")),
        (1, format!("HGET k <me> -> \"2\"\nclock -> 0\n{released}")),
    ];
    for (entries, dialogue) in table {
        let owner = Owner { entries, ..owner() };
        assert_eq!(play(&dialogue, |redis| lock().disclaim(&owner, redis)), Ok(()), "{dialogue}");
    }
}
