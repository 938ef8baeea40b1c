//! Ruby: the steps that set each row apart.

use crate::walk::{acquire, release};

#[test]
fn ohm_claims_again_and_wins_what_vanishes() {
    acquire(
        "ohm-lock",
        500,
        r#"
        clock 1700000000.5
        SETNX k 1700000001.0 -> 0
        GET k -> nil
        clock 1700000001
        SETNX k 1700000001.5 -> 0
        GET k -> "1700000000.9"
        clock 1700000001
        clock 1700000001.5
        GETSET k 1700000002.0 -> nil
        won 1700000002.0
        "#,
    );
}

#[test]
fn redis_objects_reads_nil_as_zero() {
    acquire(
        "redis-objects",
        10_000,
        r#"
        clock 1700000000.5
        SETNX k 1700000011.5 -> 0
        GET k -> nil
        clock 1700000001
        GETSET k 1700000012.0 -> "1700000011.5"
        clock 1700000001
        held LostTakeover
        "#,
    );
    release(
        "redis-objects",
        10_000,
        ("1700000011.5", "1700000000.5"),
        "
        clock 1700000011.25
        DEL k -> 1
        Freed
    ",
    );
    release(
        "redis-objects",
        10_000,
        ("1700000011.5", "1700000000.5"),
        "
        clock 1700000011.5
        LeftAlone
    ",
    );
}

#[test]
fn redis_objects_1_4_overwrites_an_old_stamp_and_respects_its_own_kind() {
    acquire(
        "redis-objects-1.4.3",
        10_000,
        r#"
        clock 1700000000
        SET k "" PX 10000 NX -> nil
        GET k -> "1699999999.5"
        clock 1700000000
        SET k "" PX 10000 -> OK
        won ""
        "#,
    );
    acquire(
        "redis-objects-1.4.3",
        10_000,
        r#"
        clock 1700000000
        SET k "" PX 10000 NX -> nil
        GET k -> ""
        clock 1700000000
        held Live for 0ns
        "#,
    );
}

#[test]
fn redis_mutex_reads_its_clock_once_and_keeps_its_value() {
    acquire(
        "redis-mutex",
        10_000,
        r#"
        clock 1700000000.5
        SETNX k 1700000010.5 -> 0
        GET k -> nil
        SETNX k 1700000010.5 -> 0
        GET k -> "1700000000.5"
        GETSET k 1700000010.5 -> "1700000000.5"
        won 1700000010.5
        "#,
    );
    acquire(
        "redis-mutex-2.0",
        10_000,
        r#"
        clock 1700000000.5
        SETNX k 1700000010.5 -> 0
        GET k -> nil
        GETSET k 1700000010.5 -> nil
        won 1700000010.5
        "#,
    );
    release(
        "redis-mutex",
        10_000,
        ("1700000010.5", "1700000000.5"),
        r#"
        GET k -> "1700000010.75"
        LeftAlone
    "#,
    );
}

#[test]
fn redis_mutex_4_0_0_looks_first_and_then_claims_until_it_wins() {
    acquire(
        "redis-mutex-4.0.0",
        10_000,
        r#"
        clock 1700000000.5
        GET k -> nil
        SETNX k 1700000010.5 -> 0
        SETNX k 1700000010.5 -> 0
        SETNX k 1700000010.5 -> 1
        won 1700000010.5
        "#,
    );
    acquire(
        "redis-mutex-4.0.0",
        10_000,
        &format!(
            "
            clock 1700000000.5
            GET k -> nil
            {}
            held Vanished
            ",
            ["SETNX k 1700000010.5 -> 0"; 10].join("\n")
        ),
    );
}

#[test]
fn redis_semaphore_asks_the_server_for_the_time() {
    acquire(
        "redis-semaphore",
        10_000,
        r#"
        clock 1600000000
        TIME -> ["1700000000", "500000"]
        SETNX k 1700000011.5 -> 0
        GET k -> "1700000000.25"
        GETSET k 1700000011.5 -> "1700000000.250"
        won 1700000011.5
        "#,
    );
    acquire(
        "redis-semaphore",
        10_000,
        r#"
        clock 1600000000
        TIME -> ["1700000000", "500000"]
        SETNX k 1700000011.5 -> 0
        GET k -> nil
        GETSET k 1700000011.5 -> nil
        won 1700000011.5
        "#,
    );
    release(
        "redis-semaphore",
        10_000,
        ("1700000011.5", "1700000000.5"),
        r#"
        clock 1600000000
        TIME -> ["1700000012", "499999"]
        DEL k -> 1
        Freed
    "#,
    );
    release(
        "redis-semaphore",
        10_000,
        ("1700000011.5", "1700000000.5"),
        r#"
        clock 1600000000
        TIME -> ["1700000012", "500000"]
        LeftAlone
    "#,
    );
}

#[test]
fn the_redis_lock_gem_knows_process_and_thread() {
    acquire(
        "redis-lock-gem",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000011-4711-42 -> 0
        GET k -> nil
        GETSET k 1700000011-4711-42 -> nil
        won 1700000011-4711-42
        "#,
    );
    let own = ("1700000011-4711-42", "1700000000");
    release(
        "redis-lock-gem",
        10_000,
        own,
        r#"
        GET k -> "1700000015-4711-42"
        clock 1700000014
        DEL k -> 1
        Freed
    "#,
    );
    release(
        "redis-lock-gem",
        10_000,
        own,
        r#"
        GET k -> "1700000011-4711-42"
        clock 1700000011
        LeftAlone
    "#,
    );
    release(
        "redis-lock-gem",
        10_000,
        own,
        r#"
        GET k -> "1700000011-4711-43"
        clock 1700000001
        LeftAlone
    "#,
    );
}
