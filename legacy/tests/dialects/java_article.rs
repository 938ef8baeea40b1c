//! The locks of the Java article, as its client sends them.

use std::time::Duration;

use lockshift_legacy::{Polling, PollingStep};

use crate::walk::{acquire, release};

#[test]
fn polling_attempts_once_less_often_than_its_caller_asks_for_and_sleeps_after_each() {
    let interval = Duration::from_millis(100);
    for (max_try_count, attempts) in [(i32::MIN, 0), (0, 0), (1, 0), (2, 1), (3, 2), (9, 8)] {
        let expected = [PollingStep::Attempt, PollingStep::Sleep(interval)].repeat(attempts);
        assert_eq!(Polling::new(interval, max_try_count).collect::<Vec<_>>(), expected, "of {max_try_count}");
    }
}

#[test]
fn setnx_and_expire_with_a_constant() {
    for name in ["java-setnx-expire", "naive-setnx-expire"] {
        acquire(
            name,
            10_000,
            r#"
            clock 1700000000
            SETNX k 1 -> 1
            EXPIRE k 10 -> 1
            won 1
        "#,
        );
        acquire(
            name,
            10_000,
            r#"
            clock 1700000000
            SETNX k 1 -> 0
            held Live
        "#,
        );
        release(
            name,
            10_000,
            ("1", "1700000000"),
            "
            DEL k -> 0
            Lost
        ",
        );
    }
}

#[test]
fn java_getset_compares_bytes() {
    // 1700000011000, ten seconds and one ahead; and 1699999999999, which has expired.
    acquire(
        "java-getset",
        10_000,
        r#"
        clock 1700000000
        SETNX k "\x00\x00\x01\x8b\xcf\xe5\x92\xf8" -> 0
        GET k -> "\x00\x00\x01\x8b\xcf\xe5\x6b\xe8"
        held Live for 1s
    "#,
    );
    acquire(
        "java-getset",
        10_000,
        r#"
        clock 1700000000
        SETNX k "\x00\x00\x01\x8b\xcf\xe5\x92\xf8" -> 0
        GET k -> "\x00\x00\x01\x8b\xcf\xe5\x67\xff"
        GETSET k "\x00\x00\x01\x8b\xcf\xe5\x92\xf8" -> "\x00\x00\x01\x8b\xcf\xe5\x67\xff"
        EXPIRE k 10 -> 1
        won \x00\x00\x01\x8b\xcf\xe5\x92\xf8
    "#,
    );
    acquire(
        "java-getset",
        10_000,
        r#"
        clock 1700000000
        SETNX k "\x00\x00\x01\x8b\xcf\xe5\x92\xf8" -> 0
        GET k -> "\x00\x00\x01\x8b\xcf\xe5\x67\xff"
        GETSET k "\x00\x00\x01\x8b\xcf\xe5\x92\xf8" -> "\x00\x00\x01\x8b\xcf\xe5\x67\xfe"
        held LostTakeover
    "#,
    );
    acquire(
        "java-getset",
        10_000,
        r#"
        clock 1700000000
        SETNX k "\x00\x00\x01\x8b\xcf\xe5\x92\xf8" -> 0
        GET k -> nil
        held Vanished
    "#,
    );
}

#[test]
fn java_getset_cannot_read_anything_but_eight_bytes() {
    for value in ["1700000010", "", "a-token"] {
        acquire(
            "java-getset",
            10_000,
            &format!(
                r#"
            clock 1700000000
            SETNX k "\x00\x00\x01\x8b\xcf\xe5\x92\xf8" -> 0
            GET k -> "{value}"
            held Unreadable
        "#
            ),
        );
    }
    acquire(
        "java-getset",
        10_000,
        r#"
        clock 1700000000
        SETNX k "\x00\x00\x01\x8b\xcf\xe5\x92\xf8" -> 0
        GET k -> (error) WRONGTYPE Operation against a key holding the wrong kind of value
        held Unreadable
    "#,
    );
}

#[test]
fn java_lua_asks_by_hash_and_once_by_text() {
    acquire(
        "java-lua",
        10_000,
        r#"
        clock 1700000000
        EVALSHA setnx_expire 1 k 1 10 -> (error) NOSCRIPT No matching script. Please use EVAL.
        EVAL setnx_expire 1 k 1 10 -> 1
        won 1
    "#,
    );
    acquire(
        "java-lua",
        10_000,
        r#"
        clock 1700000000
        EVALSHA setnx_expire 1 k 1 10 -> nil
        held Live
    "#,
    );
}

#[test]
fn java_token_writes_uuid_and_millis_and_deletes_by_comparison() {
    let value = "11111111-1111-4111-9111-111111111111.1700000000123";
    acquire(
        "java-token",
        10_000,
        &format!(
            r#"
        clock 1700000000.123
        EVALSHA setnx_expire 1 k {value} 10 -> 1
        won {value}
    "#
        ),
    );
    release(
        "java-token",
        10_000,
        (value, "1700000000.123"),
        &format!(
            "
        EVALSHA del_if_get_equals 1 k {value} -> 1
        Freed
    "
        ),
    );
    release(
        "java-token",
        10_000,
        (value, "1700000000.123"),
        &format!(
            "
        EVALSHA del_if_get_equals 1 k {value} -> nil
        Lost
    "
        ),
    );
}
