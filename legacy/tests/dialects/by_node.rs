//! Node: the steps that set each row apart.

use crate::walk::{acquire, release};

#[test]
fn faye_reads_one_clock_and_writes_one_value() {
    acquire(
        "faye-redis",
        120_000,
        r#"
        clock 1700000000
        SETNX k 1700000120001 -> 0
        GET k -> "1700000000000"
        GETSET k 1700000120001 -> "1700000000000"
        won 1700000120001
        "#,
    );
    acquire(
        "faye-redis",
        120_000,
        r#"
        clock 1700000000
        SETNX k 1700000120001 -> 0
        GET k -> ""
        held Vanished
        "#,
    );
    acquire(
        "faye-redis",
        120_000,
        r#"
        clock 1700000000
        SETNX k 1700000120001 -> 0
        GET k -> "a-token"
        GETSET k 1700000120001 -> "a-token"
        won 1700000120001
        "#,
    );
    release(
        "faye-redis",
        120_000,
        ("1700000120001", "1700000000"),
        "
        clock 1700000120
        DEL k -> 1
        Freed
    ",
    );
    release(
        "faye-redis",
        120_000,
        ("1700000120001", "1700000000"),
        "
        clock 1700000120.001
        LeftAlone
    ",
    );
}

#[test]
fn npm_redis_lock_compares_a_text_with_a_number() {
    acquire(
        "npm-redis-lock",
        5_000,
        r#"
        clock 1700000000
        SETNX k 1700000005001 -> 0
        GET k -> "1699999999999"
        clock 1700000000
        clock 1700000001
        GETSET k 1700000006001 -> " 1699999999999.0 "
        won 1700000006001
        "#,
    );
    acquire(
        "npm-redis-lock",
        5_000,
        r#"
        clock 1700000000
        SETNX k 1700000005001 -> 0
        GET k -> "a-token"
        clock 1700000000
        clock 1700000001
        GETSET k 1700000006001 -> "a-token"
        held LostTakeover
        "#,
    );
    acquire(
        "npm-redis-lock",
        5_000,
        r#"
        clock 1700000000
        SETNX k 1700000005001 -> 0
        GET k -> (error) WRONGTYPE Operation against a key holding the wrong kind of value
        held Live
        "#,
    );
}

#[test]
fn npm_redis_lock_of_2012_makes_a_phantom_of_nothing() {
    acquire(
        "npm-redis-lock-2012",
        5_000,
        r#"
        clock 1700000000
        SETNX k 1700000005001 -> 0
        GET k -> nil
        clock 1700000001
        GETSET k 1700000006001 -> nil
        held LostTakeover
        "#,
    );
}

#[test]
fn npm_redis_lock_0_1_0_keeps_the_value_and_adds_a_ttl() {
    acquire(
        "npm-redis-lock-0.1.0",
        5_000,
        r#"
        clock 1700000000
        SET k 1700000005001 PX 5000 NX -> OK
        won 1700000005001
        "#,
    );
    acquire(
        "npm-redis-lock-0.1.0",
        5_000,
        r#"
        clock 1700000000
        SET k 1700000005001 PX 5000 NX -> nil
        held Live
        "#,
    );
}

#[test]
fn node_resque_rounds_its_clock_and_overwrites() {
    acquire(
        "node-resque",
        10_000,
        r#"
        clock 1700000000.5
        SETNX k 1700000012 -> 0
        GET k -> "1700000000"
        SET k 1700000012 -> OK
        EXPIRE k 10 -> 1
        won 1700000012
        "#,
    );
    acquire(
        "node-resque",
        10_000,
        r#"
        clock 1700000000.499
        SETNX k 1700000011 -> 0
        GET k -> "1700000000"
        held Live for 0ns
        "#,
    );
    acquire(
        "node-resque-2019",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000011 -> 0
        GET k -> nil
        SET k 1700000011 -> OK
        EXPIRE k 1700000011 -> 1
        won 1700000011
        "#,
    );
}

#[test]
fn faye_in_ruby_reads_and_writes_the_same() {
    acquire(
        "faye-redis-ruby",
        120_000,
        r#"
        clock 1700000000
        SETNX k 1700000120001 -> 0
        GET k -> "1700000000000"
        GETSET k 1700000120001 -> "1700000000000"
        won 1700000120001
        "#,
    );
}
