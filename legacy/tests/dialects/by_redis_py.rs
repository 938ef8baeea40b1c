//! redis-py's own lock, from its first stamp to its token.

use crate::walk::{acquire, release};

#[test]
fn redis_py_reads_nothing_as_one() {
    for nothing in ["nil", "\"\""] {
        acquire(
            "redis-py-2.2",
            10_000,
            &format!(
                r#"
                clock 1700000000.9
                SETNX k 1700000010.0 -> 0
                GET k -> {nothing}
                GETSET k 1700000010.0 -> {nothing}
                won 1700000010.0
                "#
            ),
        );
    }
    acquire(
        "redis-py-2.2",
        10_000,
        r#"
        clock 1700000000.9
        SETNX k 1700000010.0 -> 0
        GET k -> "1700000000.0"
        held Live for 0ns
        "#,
    );
    acquire(
        "redis-py-2.8",
        10_000,
        r#"
        clock 1700000000.5
        SETNX k 1700000010.5 -> 0
        GET k -> "1700000000.25"
        GETSET k 1700000010.5 -> "1700000000.25"
        won 1700000010.5
        "#,
    );
    acquire(
        "redis-py-2.0",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> "1699999693.0"
        held Unreadable
        "#,
    );
}

#[test]
fn redis_py_deletes_the_next_owners_lock_and_not_its_own_rounded_one() {
    release(
        "redis-py-2.8",
        10_000,
        ("1700000010.5", "1700000000.5"),
        r#"
        GET k -> "1700000025.5"
        DEL k -> 1
        Freed
    "#,
    );
    release(
        "redis-py-2.2",
        10_125,
        ("1700000010.12", "1700000000"),
        r#"
        GET k -> "1700000010.12"
        LeftAlone
    "#,
    );
    release(
        "redis-py-2.7",
        10_125,
        ("1700000010.125", "1700000000"),
        r#"
        GET k -> "1700000010.125"
        DEL k -> 1
        Freed
    "#,
    );
}

#[test]
fn redis_py_2_10_watches_the_key_and_deletes_it_outside_a_transaction() {
    let token = "11111111111111111111111111111111";
    for (value, then, end) in [(token, "DEL k -> 1", "Freed"), (token, "DEL k -> 0", "Lost"), ("another's", "", "Lost")]
    {
        release(
            "redis-py-2.10",
            10_000,
            (token, "1700000000"),
            &format!(
                r#"
                WATCH k -> OK
                GET k -> "{value}"
                {then}
                UNWATCH -> OK
                {end}
                "#
            ),
        );
    }
}

#[test]
fn the_lua_lock_of_redis_py_2_10_runs_its_scripts() {
    let token = "11111111111111111111111111111111";
    acquire(
        "redis-py-2.10-lua",
        1_500,
        &format!(
            "
            clock 1700000000
            EVALSHA redis_py_acquire 1 k {token} 1500 -> 1
            won {token}
            "
        ),
    );
    release(
        "redis-py-2.10-lua",
        1_500,
        (token, "1700000000"),
        &format!(
            "
            EVALSHA redis_py_release 1 k {token} -> 0
            Lost
            "
        ),
    );
}

#[test]
fn retools_0_4_runs_its_scripts_with_whole_seconds() {
    let token = "11111111111111111111111111111111";
    acquire(
        "retools-0.4",
        10_000,
        &format!(
            "
            clock 1700000000
            EVALSHA retools_acquire 1 k {token} 10 -> 1
            won {token}
            "
        ),
    );
    release(
        "retools-0.4",
        10_000,
        (token, "1700000000"),
        &format!(
            "
            EVALSHA retools_release 1 k {token} -> 1
            Freed
            "
        ),
    );
}
