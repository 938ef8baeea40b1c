//! PHP with JSON in the key, and the later versions: the steps that set each row apart.

use crate::walk::{acquire, release};

#[test]
fn json_is_read_by_its_member_and_released_by_its_owner() {
    let own = r#"{\"expire\":1700000010,\"guid\":\"11111111-1111-4111-9111-111111111111\"}"#;
    acquire(
        "php-json-expire",
        10_000,
        &format!(
            r#"
            clock 1700000000
            SETNX k "{own}" -> 0
            GET k -> "{{"expire":1700000009}}"
            clock 1700000000
            held Live for 9s
            "#
        ),
    );
    acquire(
        "php-json-expire",
        10_000,
        &format!(
            r#"
            clock 1700000000
            SETNX k "{own}" -> 0
            GET k -> "no json"
            clock 1700000000
            held Live
            "#
        ),
    );
    let mine = r#"[1700000010,"11111111-1111-4111-9111-111111111111"]"#;
    release(
        "php-json-first",
        10_000,
        (mine, "1700000000"),
        r#"
        GET k -> "[1700000099,"11111111-1111-4111-9111-111111111111"]"
        DEL k -> 1
        Freed
    "#,
    );
    release(
        "php-json-first",
        10_000,
        (mine, "1700000000"),
        r#"
        GET k -> "[1700000010,"22222222-2222-4222-a222-222222222222"]"
        LeftAlone
    "#,
    );
}

#[test]
fn the_moment_of_acquisition_is_put_back_by_the_loser() {
    acquire(
        "php-acquired-at",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000000 -> 0
        GET k -> "1699999991"
        held Live for 1s
        "#,
    );
    acquire(
        "php-acquired-at",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000000 -> 0
        GET k -> "1699999990"
        GETSET k 1700000000 -> "1699999999"
        SET k 1699999999 -> OK
        held LostTakeover
        "#,
    );
}

#[test]
fn kdyby_on_php_8_respects_what_php_7_takes() {
    for (name, end) in [
        ("kdyby-redis-php8", "held Live"),
        ("kdyby-redis", "clock 1700000000\nGETSET k 1700000011 -> nil\nheld LostTakeover"),
    ] {
        acquire(
            name,
            10_000,
            &format!(
                r#"
                clock 1700000000
                SETNX k 1700000011 -> 0
                GET k -> "a-token"
                clock 1700000000
                {end}
                "#
            ),
        );
    }
}

#[test]
fn json_on_php_7_is_taken_over_like_on_php_8() {
    for name in ["php7-json-expire", "php-json-expire"] {
        acquire(
            name,
            10_000,
            r#"
            clock 1700000000
            SETNX k "{\"expire\":1700000010,\"guid\":\"11111111-1111-4111-9111-111111111111\"}" -> 0
            GET k -> "{"expire":1699999999}"
            clock 1700000000
            clock 1700000000
            GETSET k "{\"expire\":1700000010,\"guid\":\"11111111-1111-4111-9111-111111111111\"}" -> "{"expire":1699999999}"
            EXPIRE k 10 -> 1
            won {\"expire\":1700000010,\"guid\":\"11111111-1111-4111-9111-111111111111\"}
            "#,
        );
    }
    for name in ["php7-json-first", "php-json-first"] {
        acquire(
            name,
            10_000,
            r#"
            clock 1700000000
            SETNX k "[1700000010,\"11111111-1111-4111-9111-111111111111\"]" -> 0
            GET k -> "[1700000009,"x"]"
            clock 1700000000
            held Live for 9s
            "#,
        );
    }
}
