//! The dialect of two keys.

use crate::walk::{acquire, extend, ownership, release};

const ME: &str = "11111111-1111-4111-9111-111111111111";

#[test]
fn both_keys_are_set_at_once() {
    acquire(
        "mlanett-redis-lock",
        60_000,
        &format!(
            "
            clock 1700000000
            MSETNX lock:owner:k {ME} lock:expire:k 1700000060 -> 1
            won {ME}
            "
        ),
    );
}

#[test]
fn a_stale_lock_is_cleared_away_under_watch() {
    acquire(
        "mlanett-redis-lock",
        60_000,
        &format!(
            r#"
            clock 1700000000
            MSETNX lock:owner:k {ME} lock:expire:k 1700000060 -> 0
            clock 1700000001
            WATCH lock:owner:k lock:expire:k -> OK
            GET lock:owner:k -> "another"
            GET lock:expire:k -> "1700000000"
            MULTI -> OK
            DEL lock:owner:k -> QUEUED
            DEL lock:expire:k -> QUEUED
            EXEC -> [1, 1]
            UNWATCH -> OK
            clock 1700000002
            MSETNX lock:owner:k {ME} lock:expire:k 1700000062 -> 1
            won {ME}
            "#
        ),
    );
}

#[test]
fn what_is_live_or_gone_or_touched_is_left() {
    for (owner, expire, end) in [
        ("\"another\"", "\"1700000001\"", "held Live"),
        ("nil", "nil", "held Vanished"),
        ("nil", "\"no number\"", "held Vanished"),
    ] {
        acquire(
            "mlanett-redis-lock",
            60_000,
            &format!(
                "
                clock 1700000000
                MSETNX lock:owner:k {ME} lock:expire:k 1700000060 -> 0
                clock 1700000001
                WATCH lock:owner:k lock:expire:k -> OK
                GET lock:owner:k -> {owner}
                GET lock:expire:k -> {expire}
                UNWATCH -> OK
                {end}
                "
            ),
        );
    }
    acquire(
        "mlanett-redis-lock",
        60_000,
        &format!(
            r#"
            clock 1700000000
            MSETNX lock:owner:k {ME} lock:expire:k 1700000060 -> 0
            clock 1700000001
            WATCH lock:owner:k lock:expire:k -> OK
            GET lock:owner:k -> nil
            GET lock:expire:k -> "1700000099"
            MULTI -> OK
            DEL lock:owner:k -> QUEUED
            DEL lock:expire:k -> QUEUED
            EXEC -> nil
            UNWATCH -> OK
            held LostTakeover
            "#
        ),
    );
}

#[test]
fn only_the_owner_releases_and_extends() {
    release(
        "mlanett-redis-lock",
        60_000,
        (ME, "1700000000"),
        &format!(
            r#"
        WATCH lock:owner:k lock:expire:k -> OK
        GET lock:owner:k -> "{ME}"
        MULTI -> OK
        DEL lock:owner:k -> QUEUED
        DEL lock:expire:k -> QUEUED
        EXEC -> [1, 1]
        UNWATCH -> OK
        Freed
        "#
        ),
    );
    release(
        "mlanett-redis-lock",
        60_000,
        (ME, "1700000000"),
        r#"
        WATCH lock:owner:k lock:expire:k -> OK
        GET lock:owner:k -> "another"
        UNWATCH -> OK
        Lost
    "#,
    );
    extend(
        "mlanett-redis-lock",
        60_000,
        (ME, "1700000000"),
        &format!(
            r#"
        clock 1700000030
        WATCH lock:owner:k -> OK
        GET lock:owner:k -> "{ME}"
        MULTI -> OK
        SET lock:expire:k 1700000090 -> QUEUED
        EXEC -> [OK]
        UNWATCH -> OK
        until {ME} 60s since 1700000030
        "#
        ),
    );
    ownership(
        "mlanett-redis-lock",
        ME,
        &format!(
            r#"
        GET lock:owner:k -> "{ME}"
        PTTL lock:owner:k -> -1
        Ours {{ left: None }}
        "#
        ),
    );
}
