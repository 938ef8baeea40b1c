//! Ruby around Resque, and its neighbours: the steps that set each row apart.

use crate::walk::{acquire, refresh, release};

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
    let renewed = own.replace("1700000002.5", "1700000003.0");
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
            clock 1700000001
            SETEX k 2 "{renewed}" -> OK
            won {renewed}
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
        "redis-objects-1.4.3",
        10_000,
        ("", "1700000000"),
        "
        clock 1700000010
        LeftAlone
    ",
    );
}

#[test]
fn resque_lock_timeout_refreshes_without_a_look() {
    refresh(
        "resque-lock-timeout",
        10_000,
        ("1700000010", "1700000000"),
        "
        clock 1700000020
        SET k 1700000030 -> OK
        until 1700000030 10s since 1700000020
        ",
    );
    refresh("resque-lock", 10_000, ("1700000011", "1700000000"), "Unsupported");
}
