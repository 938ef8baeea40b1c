//! The articles' smaller classes, driven by hand.

use std::time::Duration;

use lockshift_legacy::clients::{AlreadyLocked, NotLockedYet, Polling, Step, TokenObject};
use lockshift_lock::Lease;
use lockshift_wire::{Key, Transcript, UnixTime};

use crate::ME;
use crate::walk::walk;

const VALUE: &str = "11111111-1111-4111-9111-111111111111.1700000000123";

fn ten_seconds() -> Lease {
    Lease::new(Duration::from_secs(10)).expect("a lease")
}

fn token_object() -> TokenObject {
    TokenObject::new(Key::from("k"), &ME, UnixTime::from_millis(1_700_000_000_123).expect("before 2262"))
}

/// Walks a `try_lock` and puts the object that follows in the place of the old one.
fn try_lock(object: &TokenObject, lines: &str) -> TokenObject {
    let turn = |redis: &mut Transcript| object.try_lock(ten_seconds(), redis);
    walk("token object", lines, turn, |result| match result {
        Ok(next) => format!("locked {}", next.is_locked()),
        Err(AlreadyLocked) => AlreadyLocked.to_string(),
    })
    .unwrap_or_else(|AlreadyLocked| object.clone())
}

fn unlock(object: &TokenObject, lines: &str) -> TokenObject {
    walk(
        "token object",
        lines,
        |redis| object.unlock(redis),
        |result| match result {
            Ok(next) => format!("locked {}", next.is_locked()),
            Err(NotLockedYet) => NotLockedYet.to_string(),
        },
    )
    .unwrap_or_else(|NotLockedYet| object.clone())
}

#[test]
fn a_token_object_locks_once_and_unlocks_once() {
    let object = token_object();
    assert_eq!(object.value(), VALUE.as_bytes());
    let object = unlock(&object, "not locked yet!");
    let object = try_lock(
        &object,
        &format!(
            "
        EVALSHA setnx_expire 1 k {VALUE} 10 -> nil
        locked false
    "
        ),
    );
    let object = try_lock(
        &object,
        &format!(
            "
        EVALSHA setnx_expire 1 k {VALUE} 10 -> 1
        locked true
    "
        ),
    );
    let object = try_lock(&object, "already locked!");
    let object = unlock(
        &object,
        &format!(
            "
        EVALSHA del_if_get_equals 1 k {VALUE} -> 1
        locked false
    "
        ),
    );
    unlock(&object, "not locked yet!");
}

#[test]
fn a_token_object_does_not_ask_whether_its_unlock_came_too_late() {
    let object = try_lock(
        &token_object(),
        &format!(
            "
        EVALSHA setnx_expire 1 k {VALUE} 10 -> 1
        locked true
    "
        ),
    );
    unlock(
        &object,
        &format!(
            "
        EVALSHA del_if_get_equals 1 k {VALUE} -> nil
        locked false
    "
        ),
    );
}

#[test]
fn polling_tries_one_time_fewer_than_it_is_told() {
    let interval = Duration::from_millis(100);
    for (max_try_count, tries) in [(-1, 0), (0, 0), (1, 0), (2, 1), (10, 9)] {
        let steps: Vec<_> = Polling::new(interval, max_try_count).collect();
        assert_eq!(steps.iter().filter(|step| **step == Step::Try).count(), tries, "{max_try_count} tries");
        assert_eq!(
            steps.iter().filter(|step| **step == Step::Sleep(interval)).count(),
            tries,
            "{max_try_count} sleeps"
        );
    }
}
