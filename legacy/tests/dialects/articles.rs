//! The locks of the three articles, as their clients would send them.

use crate::walk::{acquire, release};

#[test]
fn php_setnx_takes_what_is_free_and_nothing_else() {
    acquire(
        "php-setnx",
        10_000,
        r#"
        clock 1700000000.9
        SETNX k 1700000010 -> 1
        won 1700000010
    "#,
    );
    acquire(
        "php-setnx",
        10_000,
        r#"
        clock 1700000000.9
        SETNX k 1700000010 -> 0
        held Live
    "#,
    );
    release(
        "php-setnx",
        10_000,
        ("1700000010", "1700000000"),
        "
        DEL k -> 1
        Freed
    ",
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
        SETNX k 1700000010 -> 1
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
fn the_absolute_expire_lives_for_decades() {
    acquire(
        "php-getset-absolute-expire",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 1
        EXPIRE k 1700000010 -> 1
        won 1700000010
    "#,
    );
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
    // 1700000011000, ten seconds and one ahead; and 1699999999999, which is over.
    acquire(
        "java-getset",
        10_000,
        r#"
        clock 1700000000
        SETNX k "\x00\x00\x01\x8b\xcf\xe5\x92\xf8" -> 1
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

#[test]
fn the_ancestors_of_the_jedis_article() {
    acquire(
        "naive-exists-set",
        10_000,
        "
        clock 1700000000
        EXISTS k -> 0
        SET k 1 -> OK
        won 1
    ",
    );
    acquire(
        "naive-exists-set",
        10_000,
        "
        clock 1700000000
        EXISTS k -> 1
        held Live
    ",
    );
    acquire(
        "naive-setnx",
        10_000,
        "
        clock 1700000000
        SETNX k 1 -> 1
        won 1
    ",
    );
    acquire(
        "naive-set-ex-nx",
        10_000,
        "
        clock 1700000000
        SET k 1 EX 10 NX -> OK
        won 1
    ",
    );
    acquire(
        "naive-set-ex-nx",
        10_000,
        "
        clock 1700000000
        SET k 1 EX 10 NX -> nil
        held Live
    ",
    );
    release(
        "naive-check-del",
        10_000,
        ("mine", "1700000000"),
        r#"
        GET k -> "mine"
        DEL k -> 1
        Freed
    "#,
    );
    release(
        "naive-check-del",
        10_000,
        ("mine", "1700000000"),
        r#"
        GET k -> "another's"
        LeftAlone
    "#,
    );
}

#[test]
fn the_jedis_class_says_freed_whatever_its_script_says() {
    let value = "11111111-1111-4111-9111-111111111111";
    acquire(
        "redis-distributed-lock",
        10_000,
        &format!(
            "
        clock 1700000000
        SET k {value} NX EX 10 -> OK
        won {value}
    "
        ),
    );
    for deleted in [1, 0] {
        release(
            "redis-distributed-lock",
            10_000,
            (value, "1700000000"),
            &format!(
                "
            EVAL jedis_unlock 1 k {value} -> {deleted}
            Freed
        "
            ),
        );
    }
}
