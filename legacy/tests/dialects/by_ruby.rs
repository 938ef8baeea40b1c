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

#[test]
fn resque_lock_holds_a_stamp_that_equals_now() {
    acquire(
        "resque-lock",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000011 -> 0
        GET k -> "1700000000"
        held Live for 0ns
        "#,
    );
    acquire(
        "resque-lonely-job",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000011 -> 0
        GET k -> "1700000000"
        GETSET k 1700000011 -> "1700000000"
        won 1700000011
        "#,
    );
}

#[test]
fn resque_lock_timeout_tries_setnx_once_more() {
    for seen in ["\"1700000009\"", "nil"] {
        acquire(
            "resque-lock-timeout",
            10_000,
            &format!(
                r#"
                clock 1700000000
                SETNX k 1700000010 -> 0
                GET k -> {seen}
                SETNX k 1700000010 -> 1
                won 1700000010
                "#
            ),
        );
    }
    acquire(
        "resque-lock-timeout",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> "1700000009"
        SETNX k 1700000010 -> 0
        held Live for 9s
        "#,
    );
    release(
        "resque-lock-timeout",
        10_000,
        ("1700000010", "1700000000"),
        "
        clock 1700000010.9
        DEL k -> 1
        Freed
    ",
    );
}

#[test]
fn resque_concurrent_restriction_lets_the_key_outlive_its_stamp() {
    acquire(
        "resque-concurrent-restriction",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000011 -> 0
        GET k -> nil
        GETSET k 1700000011 -> nil
        EXPIREAT k 1700000311 -> 1
        won 1700000011
        "#,
    );
}

#[test]
fn qtrix_asks_the_time_for_every_value_and_every_comparison() {
    acquire(
        "qtrix",
        5_000,
        r#"
        clock 1600000000
        TIME -> ["1700000000", "900000"]
        SETNX k 1700000006 -> 0
        GET k -> "1699999999"
        clock 1600000000
        TIME -> ["1700000001", "0"]
        clock 1600000000
        TIME -> ["1700000001", "0"]
        GETSET k 1700000007 -> "1699999999"
        clock 1600000000
        TIME -> ["1700000001", "0"]
        won 1700000007
        "#,
    );
}

#[test]
fn redis_cave_keeper_reads_its_clock_before_it_asks_and_releases_by_getset() {
    acquire(
        "redis-cave-keeper",
        5_000,
        r#"
        clock 1700000000
        SETNX k 1700000006 -> 0
        clock 1700000000
        GET k -> "1699999999"
        clock 1700000001
        clock 1700000001
        GETSET k 1700000007 -> "1699999999"
        won 1700000007
        "#,
    );
    release(
        "redis-cave-keeper",
        5_000,
        ("1700000006", "1700000000"),
        r#"
        clock 1700000002
        GET k -> "1700000006"
        clock 1700000002
        GETSET k 1700000008 -> "1700000006"
        clock 1700000002
        DEL k -> 1
        Freed
    "#,
    );
    release(
        "redis-cave-keeper",
        5_000,
        ("1700000006", "1700000000"),
        r#"
        clock 1700000007
        GET k -> "1700000006"
        LeftAlone
    "#,
    );
}

#[test]
fn redis_getlock_fails_before_it_takes_over() {
    let own = r#"{\"uuid\":\"11111111-1111-4111-9111-111111111111\",\"expire_at\":\"1700000002.5\"}"#;
    acquire(
        "redis-getlock-old-server",
        2_000,
        &format!(
            r#"
            clock 1700000000.5
            SETNX k "{own}" -> 0
            GET k -> "{{"uuid":"x","expire_at":"1699999999.5"}}"
            held Unreadable
            "#
        ),
    );
    acquire(
        "redis-getlock",
        2_000,
        &format!(
            r#"
            clock 1700000000.5
            SET k "{own}" EX 2 NX -> OK
            won {own}
            "#
        ),
    );
    let mine = r#"{"uuid":"11111111-1111-4111-9111-111111111111","expire_at":"1700000002.5"}"#;
    release(
        "redis-getlock",
        2_000,
        (mine, "1700000000.5"),
        r#"
        EXISTS k -> 1
        GET k -> "{"uuid":"11111111-1111-4111-9111-111111111111","expire_at":"1700000009.0"}"
        DEL k -> 1
        Freed
    "#,
    );
    release(
        "redis-getlock",
        2_000,
        (mine, "1700000000.5"),
        "
        EXISTS k -> 0
        Lost
    ",
    );
}

#[test]
fn the_values_of_older_and_sibling_versions() {
    let free = [
        ("resque-bus", "SETNX k 1700000012 -> 1", "1700000012"),
        ("redis-mutex-0", "SETNX k 1700000010 -> 1", "1700000010"),
        ("redis-lock-gem-0.1", "SETNX k 1700000011-4711 -> 1", "1700000011-4711"),
        ("redis-objects-without-expiration", "SETNX k 1 -> 1", "1"),
        ("resque-lock-1.0", "SETNX k true -> 1", "true"),
    ];
    for (name, claim, value) in free {
        acquire(name, 10_000, &format!("clock 1700000000\n{claim}\nwon {value}"));
    }
}

#[test]
fn redis_objects_1_4_2_never_spares_a_lock_that_it_has_lost() {
    release(
        "redis-objects-1.4.2",
        10_000,
        ("", "1700000000"),
        "
        DEL k -> 1
        Freed
    ",
    );
    release(
        "redis-objects-1.4.3",
        10_000,
        ("", "1700000000"),
        "
        clock 1700000010
        LeftAlone
    ",
    );
}
