//! Extension, ownership, and an attempt whose reply was lost.

use crate::walk::{disclaim, extend, ownership};

#[test]
fn an_extension_writes_a_new_stamp_over_exactly_the_old_one() {
    extend(
        "php-getset",
        10_000,
        ("1700000010", "1700000000"),
        "
        clock 1700000004
        EVALSHA extend 1 k 1700000010 1700000014 10000 1 -> 1
        until 1700000014 10s since 1700000004
    ",
    );
    extend(
        "php-getset",
        10_000,
        ("1700000010", "1700000000"),
        "
        clock 1700000004
        EVALSHA extend 1 k 1700000010 1700000014 10000 1 -> 0
        Lost
    ",
    );
}

#[test]
fn a_dialect_without_a_ttl_gives_none_but_lengthens_what_there_is() {
    extend(
        "jedis-lock",
        10_000,
        ("1700000010001", "1700000000"),
        "
        clock 1700000004
        EVALSHA extend 1 k 1700000010001 1700000014001 10001 0 -> 1
        until 1700000014001 10s since 1700000004
    ",
    );
}

#[test]
fn the_owner_stays_in_an_extended_value() {
    extend(
        "redis-lock-gem",
        10_000,
        ("1700000011-4711-42", "1700000000"),
        "
        clock 1700000004
        EVALSHA extend 1 k 1700000011-4711-42 1700000015-4711-42 11000 0 -> 1
        until 1700000015-4711-42 10s since 1700000004
    ",
    );
    let token = "11111111-1111-4111-9111-111111111111";
    extend(
        "naive-check-del",
        10_000,
        (token, "1700000000"),
        &format!(
            "
        clock 1700000004
        EVALSHA extend 1 k {token} {token} 10000 1 -> 1
        until {token} 10s since 1700000004
    "
        ),
    );
    extend(
        "resque-concurrent-restriction",
        10_000,
        ("1700000011", "1700000000"),
        "
        clock 1700000004
        EVALSHA extend 1 k 1700000011 1700000015 310000 1 -> 1
        until 1700000015 10s since 1700000004
    ",
    );
}

#[test]
fn a_constant_names_no_owner_and_is_not_extended() {
    for (name, value) in [("java-setnx-expire", "1"), ("redis-objects-1.4.3", ""), ("resque-lock-1.0", "true")] {
        extend(name, 10_000, (value, "1700000000"), "Unsupported");
    }
}

#[test]
fn ownership_is_what_the_server_says_of_the_key() {
    ownership(
        "php-getset",
        "1700000010",
        r#"
        GET k -> "1700000010"
        PTTL k -> 7000
        Ours { left: Some(7s) }
    "#,
    );
    ownership(
        "php-getset",
        "1700000010",
        r#"
        GET k -> "1700000012"
        Theirs
    "#,
    );
    ownership(
        "php-getset",
        "1700000010",
        "
        GET k -> nil
        Free
    ",
    );
    ownership(
        "php-getset",
        "1700000010",
        "
        GET k -> (error) WRONGTYPE Operation against a key holding the wrong kind of value
        Theirs
    ",
    );
    ownership(
        "java-setnx-expire",
        "1",
        r#"
        GET k -> "1"
        PTTL k -> -1
        Indistinct { left: None }
    "#,
    );
}

#[test]
fn an_attempt_whose_reply_was_lost_is_disclaimed_if_its_value_names_it() {
    let own = "11111111-1111-4111-9111-111111111111:1700000010001";
    disclaim(
        "jedis-lock-2015",
        &format!(
            r#"
        GET k -> "{own}"
        EVALSHA jedis_unlock 1 k {own} -> 1
        done
    "#
        ),
    );
    disclaim(
        "jedis-lock-2015",
        r#"
        GET k -> "22222222-2222-4222-a222-222222222222:1700000010001"
        done
    "#,
    );
    disclaim(
        "redis-py-2.10",
        "
        GET k -> nil
        done
    ",
    );
    disclaim("php-getset", "done");
}
