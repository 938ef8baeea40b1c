//! The Jedis article's class, which remembers its threads' locks and renews them, driven by hand.

use std::time::Duration;

use lockshift_legacy::clients::{JedisLocks, Renewal, Renewed};
use lockshift_lock::Lease;
use lockshift_wire::{Key, Transcript};

use crate::walk::walk;

fn ten_seconds() -> Lease {
    Lease::new(Duration::from_secs(10)).expect("a lease")
}

/// Walks a `lock` of this value on this key, by this thread.
fn lock(locks: &JedisLocks, thread: u64, key: &str, persistent: bool, lines: &str) -> (JedisLocks, Option<Renewal>) {
    let key = Key::from(key);
    let turn = |redis: &mut Transcript| locks.lock(thread, &key, b"v", ten_seconds(), persistent, redis);
    let locked = walk("jedis locks", lines, turn, |locked| format!("answers {}", locked.answer));
    (locked.locks, locked.renewal)
}

fn unlock_key(locks: &JedisLocks, thread: u64, key: &str, lines: &str) -> JedisLocks {
    let key = Key::from(key);
    let turn = |redis: &mut Transcript| locks.unlock(thread, &key, b"v", redis);
    walk("jedis locks", lines, turn, |unlocked| format!("answers {}", unlocked.answer)).locks
}

fn renew(renewal: &Renewal, locks: &JedisLocks, lines: &str) -> Option<Renewal> {
    let renewed = walk(
        "renewal",
        lines,
        |redis| renewal.turn(locks, redis),
        |renewed| match renewed {
            Renewed::ThenSleeps { pause, .. } => format!("sleeps {pause:?}"),
            Renewed::AgainAtOnce => "again at once".to_string(),
            Renewed::Ended => "ended".to_string(),
        },
    );
    match renewed {
        Renewed::ThenSleeps { next, .. } => Some(next),
        Renewed::AgainAtOnce | Renewed::Ended => None,
    }
}

#[test]
fn the_jedis_class_enters_again_without_asking_redis() {
    let (locks, _) = lock(
        &JedisLocks::default(),
        1,
        "a",
        false,
        "
        SET a v NX EX 10 -> OK
        answers true
    ",
    );
    let (locks, _) = lock(&locks, 1, "a", false, "answers true");
    assert_eq!(locks.count(1, &Key::from("a")), 2);
    let (locks, _) = lock(
        &locks,
        2,
        "a",
        false,
        "
        SET a v NX EX 10 -> nil
        answers false
    ",
    );
    let locks = unlock_key(&locks, 1, "a", "answers true");
    let locks = unlock_key(
        &locks,
        1,
        "a",
        "
        EVAL jedis_unlock 1 a v -> 1
        answers true
    ",
    );
    unlock_key(&locks, 1, "a", "answers false");
}

#[test]
fn the_jedis_class_says_yes_after_a_loss_and_after_an_error() {
    for reply in ["0", "(error) READONLY You can't write against a read only replica."] {
        let (locks, _) = lock(
            &JedisLocks::default(),
            1,
            "a",
            false,
            "
            SET a v NX EX 10 -> OK
            answers true
        ",
        );
        unlock_key(
            &locks,
            1,
            "a",
            &format!(
                "
            EVAL jedis_unlock 1 a v -> {reply}
            answers true
        "
            ),
        );
    }
    lock(
        &JedisLocks::default(),
        1,
        "a",
        false,
        "
        SET a v NX EX 10 -> (error) OOM command not allowed when used memory > 'maxmemory'.
        answers false
    ",
    );
}

#[test]
fn the_jedis_class_renews_at_once_and_then_when_it_is_too_late() {
    let (locks, renewal) = lock(
        &JedisLocks::new(2),
        1,
        "a",
        true,
        "
        SET a v NX EX 10 -> OK
        answers true
    ",
    );
    let renewal = renewal.expect("a renewal was asked for");
    assert_eq!(
        renew(
            &renewal,
            &locks,
            "
        EVAL jedis_renew 1 a v 10 -> (error) LOADING Redis is loading the dataset in memory
        again at once
    "
        ),
        None
    );
    let renewal = renew(
        &renewal,
        &locks,
        "
        EVAL jedis_renew 1 a v 10 -> 1
        sleeps 10s
    ",
    )
    .expect("one renewal left");
    let renewal = renew(
        &renewal,
        &locks,
        "
        EVAL jedis_renew 1 a v 10 -> 0
        sleeps 10s
    ",
    )
    .expect("its sleep");
    renew(&renewal, &locks, "ended");
}

#[test]
fn one_flag_stops_the_renewal_of_every_key() {
    let (locks, of_a) = lock(
        &JedisLocks::default(),
        1,
        "a",
        true,
        "
        SET a v NX EX 10 -> OK
        answers true
    ",
    );
    let (locks, of_b) = lock(
        &locks,
        1,
        "b",
        true,
        "
        SET b v NX EX 10 -> OK
        answers true
    ",
    );
    assert!(of_a.is_some() && locks.renews());
    let locks = unlock_key(
        &locks,
        1,
        "a",
        "
        EVAL jedis_unlock 1 a v -> 1
        answers true
    ",
    );
    assert_eq!(locks.count(1, &Key::from("b")), 1, "b is still held");
    renew(&of_b.expect("b was to be renewed"), &locks, "ended");
}
