//! The locks of the Jedis article, as its clients send them.

use crate::walk::{acquire, release};

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
