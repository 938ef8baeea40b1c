//! The locks of the PHP article, as its client sends them.

use crate::walk::{acquire, release};

#[test]
fn php_setnx_takes_what_is_free_and_nothing_else() {
    acquire(
        "php-setnx",
        10_000,
        r#"
        clock 1700000000.9
        SETNX k 1700000010 -> 0
        held Live
    "#,
    );
}

#[test]
fn php_del_takeover_writes_back_the_stamp_that_it_has_read() {
    acquire(
        "php-del-takeover",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> "1699999999"
        clock 1700000000
        DEL k -> 1
        SETNX k 1699999999 -> 1
        won 1699999999
    "#,
    );
    acquire(
        "php-del-takeover",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> "1699999999"
        clock 1700000000
        DEL k -> 1
        SETNX k 1699999999 -> 0
        held LostTakeover
    "#,
    );
    acquire(
        "php-del-takeover",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> nil
        DEL k -> 0
        SETNX k "" -> 1
        won ""
    "#,
    );
}

#[test]
fn php_getset_wins_as_long_as_what_it_overwrites_is_expired() {
    acquire(
        "php-getset",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> "1700000007"
        clock 1700000000
        held Live for 7s
    "#,
    );
    acquire(
        "php-getset",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> "1699999999"
        clock 1700000001
        GETSET k 1700000010 -> "1699999999"
        clock 1700000002
        EXPIRE k 10 -> 1
        won 1700000010
    "#,
    );
    acquire(
        "php-getset",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> "1699999999"
        clock 1700000001
        GETSET k 1700000010 -> "1700000011"
        clock 1700000002
        held LostTakeover
    "#,
    );
}

#[test]
fn a_stamp_that_equals_now_is_live_to_php_and_to_java() {
    acquire(
        "php-getset",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> "1700000000"
        clock 1700000000.999
        held Live for 0ns
    "#,
    );
    acquire(
        "java-getset",
        10_000,
        r#"
        clock 1700000000
        SETNX k "\x00\x00\x01\x8b\xcf\xe5\x92\xf8" -> 0
        GET k -> "\x00\x00\x01\x8b\xcf\xe5h\x00"
        held Live for 0ns
    "#,
    );
}

#[test]
fn php_getset_takes_nil_for_expired_before_and_after() {
    acquire(
        "php-getset",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> nil
        GETSET k 1700000010 -> nil
        EXPIRE k 10 -> 1
        won 1700000010
    "#,
    );
}

#[test]
fn php_getset_takes_a_key_of_another_type_for_nothing() {
    acquire(
        "php-getset",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> (error) WRONGTYPE Operation against a key holding the wrong kind of value
        GETSET k 1700000010 -> (error) WRONGTYPE Operation against a key holding the wrong kind of value
        EXPIRE k 10 -> 1
        won 1700000010
    "#,
    );
}

#[test]
fn php_7_takes_a_token_that_php_8_respects() {
    let token = "4a1f0000-0000-4000-8000-000000000000";
    acquire(
        "php7-getset",
        10_000,
        &format!(
            r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> "{token}"
        clock 1700000000
        GETSET k 1700000010 -> "{token}"
        clock 1700000000
        EXPIRE k 10 -> 1
        won 1700000010
    "#
        ),
    );
    acquire(
        "php-getset",
        10_000,
        &format!(
            r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> "{token}"
        clock 1700000000
        held Live
    "#
        ),
    );
}

#[test]
fn php_getset_releases_unless_the_ttl_is_zero() {
    for ttl in [7, -1, -2] {
        release(
            "php-getset",
            10_000,
            ("1700000010", "1700000000"),
            &format!(
                "
            TTL k -> {ttl}
            DEL k -> 1
            Freed
        "
            ),
        );
    }
    release(
        "php-getset",
        10_000,
        ("1700000010", "1700000000"),
        "
        TTL k -> 0
        LeftAlone
    ",
    );
}

#[test]
fn php_7_takes_what_is_no_number_in_every_one_of_these_locks() {
    acquire(
        "php7-del-takeover",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> "a-token"
        clock 1700000000
        DEL k -> 1
        SETNX k a-token -> 1
        won a-token
        "#,
    );
    acquire(
        "php7-getset-absolute-expire",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> "a-token"
        clock 1700000000
        GETSET k 1700000010 -> "a-token"
        clock 1700000000
        EXPIRE k 1700000010 -> 1
        won 1700000010
        "#,
    );
}
