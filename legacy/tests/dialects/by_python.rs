//! Python: the steps that set each row apart.

use crate::walk::{acquire, release};

#[test]
fn chris_lambs_recipe_compares_bytes_and_gives_up_on_nothing() {
    acquire(
        "chris-lamb",
        10_000,
        r#"
        clock 1700000000.126
        SETNX k 1700000011.13 -> 0
        GET k -> "1699999999.99"
        clock 1700000000.2
        GETSET k 1700000011.13 -> "1699999999.99"
        won 1700000011.13
        "#,
    );
    acquire(
        "chris-lamb",
        10_000,
        r#"
        clock 1700000000.126
        SETNX k 1700000011.13 -> 0
        GET k -> ""
        held Vanished
        "#,
    );
}

#[test]
fn redset_allows_for_a_hundredth() {
    acquire(
        "redset",
        10_000,
        r#"
        clock 1700000000.5
        SETNX k 1700000010.5 -> 0
        GET k -> "1700000000.49"
        clock 1700000000.5
        held Live for 0ns
        "#,
    );
    acquire(
        "redset",
        10_000,
        r#"
        clock 1700000000.5
        SETNX k 1700000010.5 -> 0
        GET k -> "1700000000.48"
        clock 1700000000.5
        GETSET k 1700000010.5 -> "1700000000.48"
        won 1700000010.5
        "#,
    );
}

#[test]
fn retools_gives_expire_first_the_stamp_and_then_the_lease() {
    for (name, argument) in [("retools-absolute-expire", "1700000011"), ("retools-expire", "10")] {
        acquire(
            name,
            10_000,
            &format!(
                "
                clock 1700000000.5
                SETNX k 1700000011.5 -> 1
                EXPIRE k {argument} -> 1
                won 1700000011.5
                "
            ),
        );
    }
    release(
        "retools",
        10_000,
        ("1700000011.5", "1700000000.5"),
        "
        clock 1700000010.5
        LeftAlone
    ",
    );
}

#[test]
fn celery_once_overwrites_what_it_takes_for_free() {
    acquire(
        "celery-once",
        10_000,
        r#"
        clock 1700000000
        GET k -> nil
        SETEX k 10 1700000010 -> OK
        won 1700000010
        "#,
    );
    acquire(
        "celery-once",
        10_000,
        r#"
        clock 1700000000
        GET k -> "1700000001"
        held Live for 1s
        "#,
    );
}

#[test]
fn the_recipe_ends_its_attempt_without_a_value_and_deletes_any_live_lock() {
    acquire(
        "python-recipe",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000011.0 -> 0
        clock 1700000000
        GET k -> nil
        held Vanished
        "#,
    );
    release(
        "python-recipe",
        10_000,
        ("1700000011.0", "1700000000"),
        r#"
        GET k -> "1700000099.5"
        clock 1700000012
        DEL k -> 1
        Freed
    "#,
    );
}

#[test]
fn without_a_cast_python_2_never_sees_a_lock_expire() {
    acquire(
        "python2-recipe-uncast",
        10_000,
        r#"
        clock 1700000000.1234567
        SETNX k 1700000011.123456 -> 0
        clock 1700000000
        GET k -> "1"
        held Live
        "#,
    );
}

#[test]
fn redisco_claims_again_and_wins_what_vanishes() {
    acquire(
        "redisco",
        1_000,
        r#"
        clock 1700000000
        SETNX k 1700000001.000000 -> 0
        GET k -> ""
        clock 1700000000.5
        SETNX k 1700000001.500000 -> 0
        GET k -> "1700000000.000000"
        clock 1700000000.5
        clock 1700000000.5
        GETSET k 1700000001.500000 -> nil
        won 1700000001.500000
        "#,
    );
}

#[test]
fn redisco_since_2012_sets_in_a_transaction() {
    for (presence, claim) in [("EXISTS k -> 0", ""), ("EXISTS k -> 1", "GET k -> nil")] {
        acquire(
            "redisco-transaction",
            1_000,
            &format!(
                "
                clock 1700000000
                WATCH k -> OK
                {presence}
                {claim}
                clock 1700000000.5
                MULTI -> OK
                SET k 1700000001.500000 -> QUEUED
                EXEC -> nil
                held LostTakeover
                "
            ),
        );
    }
}
