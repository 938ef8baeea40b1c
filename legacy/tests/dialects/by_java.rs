//! Java, beside the articles: the steps that set each row apart.

use crate::walk::{acquire, release};

#[test]
fn jedis_lock_needs_the_value_that_it_has_read() {
    acquire(
        "jedis-lock",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010001 -> 0
        GET k -> "1699999999999"
        clock 1700000000
        GETSET k 1700000010001 -> "1699999999999"
        won 1700000010001
        "#,
    );
    for old in ["nil", "\"1699999999998\"", "\"1700000010002\""] {
        acquire(
            "jedis-lock",
            10_000,
            &format!(
                r#"
                clock 1700000000
                SETNX k 1700000010001 -> 0
                GET k -> "1699999999999"
                clock 1700000000
                GETSET k 1700000010001 -> {old}
                held LostTakeover
                "#
            ),
        );
    }
    acquire(
        "jedis-lock",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010001 -> 0
        GET k -> "1700000010.5"
        clock 1700000000
        held Unreadable
        "#,
    );
}

#[test]
fn jedis_lock_takes_seconds_for_long_gone_milliseconds() {
    acquire(
        "jedis-lock",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010001 -> 0
        GET k -> "1700000600"
        clock 1700000000
        GETSET k 1700000010001 -> "1700000600"
        won 1700000010001
        "#,
    );
}

#[test]
fn jedis_lock_2015_takes_what_is_its_own_and_what_it_cannot_read() {
    let own = "11111111-1111-4111-9111-111111111111:1700000010001";
    let others = "22222222-2222-4222-a222-222222222222:1700000010001";
    for free in ["11111111-1111-4111-9111-111111111111:1799999999999", "a-token"] {
        acquire(
            "jedis-lock-2015",
            10_000,
            &format!(
                r#"
                clock 1700000000
                SETNX k {own} -> 0
                GET k -> "{free}"
                clock 1700000000
                GETSET k {own} -> "{free}"
                won {own}
                "#
            ),
        );
    }
    acquire(
        "jedis-lock-2015",
        10_000,
        &format!(
            r#"
            clock 1700000000
            SETNX k {own} -> 0
            GET k -> "{others}"
            clock 1700000000
            held Live for 10.001s
            "#
        ),
    );
    acquire(
        "jedis-lock-2015",
        10_000,
        &format!(
            r#"
            clock 1700000000
            SETNX k {own} -> 0
            GET k -> nil
            GETSET k {own} -> nil
            held LostTakeover
            "#
        ),
    );
}

#[test]
fn the_spring_template_deletes_another_key() {
    acquire(
        "spring-redis-callback",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010001 -> 0
        GET k -> "1699999999999"
        clock 1700000000
        GETSET k 1700000010001 -> nil
        held LostTakeover
        "#,
    );
    release(
        "spring-redis-callback",
        10_000,
        ("1700000010001", "1700000000"),
        r#"
        DEL "\xac\xed\x00\x05t\x00\x01k" -> 0
        Lost
    "#,
    );
}

#[test]
fn every_waiter_of_zcr_prolongs_the_ttl() {
    acquire(
        "0201zcr-redis-lock",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010001 -> 0
        PEXPIRE k 10000 -> 1
        GET k -> "1700000009000"
        clock 1700000000
        held Live for 9s
        "#,
    );
    release(
        "0201zcr-redis-lock",
        10_000,
        ("1700000010001", "1700000000"),
        r#"
        GET k -> "another's"
        DEL k -> 1
        Freed
    "#,
    );
}

#[test]
fn auto_load_cache_forgets_the_ttl_after_a_takeover() {
    acquire(
        "auto-load-cache",
        9_500,
        r#"
        clock 1700000000
        SETNX k 1700000010001 -> 1
        EXPIRE k 10 -> 1
        won 1700000010001
        "#,
    );
    acquire(
        "auto-load-cache",
        9_500,
        r#"
        clock 1700000000
        SETNX k 1700000010001 -> 0
        GET k -> "1699999999999"
        clock 1700000000
        GETSET k 1700000010001 -> "1699999999998"
        clock 1700000000
        won 1700000010001
        "#,
    );
    release(
        "auto-load-cache",
        10_000,
        ("1700000010001", "1700000000"),
        "
        clock 1700000009.999
        DEL k -> 1
        Freed
    ",
    );
    release(
        "auto-load-cache",
        10_000,
        ("1700000010001", "1700000000"),
        "
        clock 1700000010
        LeftAlone
    ",
    );
}

#[test]
fn sell_compares_before_it_deletes() {
    release(
        "sell-redis-lock",
        10_000,
        ("1700000010000", "1700000000"),
        r#"
        GET k -> "1700000010000"
        DEL k -> 1
        Freed
    "#,
    );
    release(
        "sell-redis-lock",
        10_000,
        ("1700000010000", "1700000000"),
        "
        GET k -> nil
        Lost
    ",
    );
}
