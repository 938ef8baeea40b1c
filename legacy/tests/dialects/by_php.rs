//! PHP, beside the article: the steps that set each row apart.

use crate::walk::{acquire, release};

#[test]
fn yii_takes_false_for_expired_and_compares_loosely() {
    acquire(
        "yii-redis",
        10_000,
        r#"
        clock 1700000000.12345
        SETNX k 1700000010.1235 -> 0
        GET k -> "1700000000.1"
        clock 1700000000.2
        clock 1700000000.3
        GETSET k 1700000010.3 -> "1700000000.10"
        won 1700000010.3
        "#,
    );
    acquire(
        "yii-redis",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> nil
        clock 1700000001
        GETSET k 1700000011 -> nil
        won 1700000011
        "#,
    );
    acquire(
        "yii-redis",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> "1699999999.5"
        clock 1700000001
        clock 1700000001
        GETSET k 1700000011 -> nil
        held LostTakeover
        "#,
    );
}

#[test]
fn yii_releases_unless_an_earlier_stamp_is_still_ahead() {
    let own = ("1700000010.1235", "1700000000.12345");
    release(
        "yii-redis",
        10_000,
        own,
        "
        GET k -> \"1700000010.1235\"
        DEL k -> 1
        Freed
    ",
    );
    release(
        "yii-redis",
        10_000,
        own,
        "
        GET k -> \"1700000008.5\"
        clock 1700000003
        LeftAlone
    ",
    );
    release(
        "yii-redis",
        10_000,
        own,
        "
        GET k -> \"1700000008.5\"
        clock 1700000009
        DEL k -> 1
        Freed
    ",
    );
    release(
        "yii-redis",
        10_000,
        own,
        "
        GET k -> \"1700000020\"
        DEL k -> 1
        Freed
    ",
    );
}

#[test]
fn yii_before_its_fix_walks_in_without_a_word() {
    acquire(
        "yii-redis-unwritten",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> "1699999999"
        clock 1700000000
        won 1700000010
        "#,
    );
}

#[test]
fn kdyby_goes_back_to_setnx_with_a_new_value_when_there_is_none() {
    for nothing in ["nil", "\"\""] {
        acquire(
            "kdyby-redis",
            10_000,
            &format!(
                r#"
                clock 1700000000
                SETNX k 1700000011 -> 0
                GET k -> {nothing}
                clock 1700000001
                SETNX k 1700000012 -> 0
                GET k -> "1700000001"
                clock 1700000001
                held Live for 0ns
                "#
            ),
        );
    }
    acquire(
        "kdyby-redis",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000011 -> 0
        GET k -> "1699999999"
        clock 1700000000
        clock 1700000001
        GETSET k 1700000012 -> "1699999999"
        won 1700000012
        "#,
    );
    release(
        "kdyby-redis",
        10_000,
        ("1700000011", "1700000000"),
        "
        clock 1700000010.9
        DEL k -> 1
        Freed
    ",
    );
    release(
        "kdyby-redis",
        10_000,
        ("1700000011", "1700000000"),
        "
        clock 1700000011
        LeftAlone
    ",
    );
}

#[test]
fn predis_lock_reads_what_stands_before_the_colon() {
    acquire(
        "predis-lock",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000011:4711 -> 0
        GET k -> "1699999999:77"
        clock 1700000000
        GETSET k 1700000011:4711 -> "1699999990:78"
        clock 1700000001
        won 1700000011:4711
        "#,
    );
    acquire(
        "predis-lock-php8",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000011:4711 -> 0
        GET k -> "1700000009:77"
        clock 1700000000
        held Live for 9s
        "#,
    );
}

#[test]
fn mr_lock_takes_over_what_is_no_number() {
    acquire(
        "mr-lock-redis",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000011 -> 0
        GET k -> "a-token"
        clock 1700000000
        GETSET k 1700000011 -> "a-token"
        won 1700000011
        "#,
    );
    acquire(
        "mr-lock-redis",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000011 -> 0
        GET k -> ""
        held Vanished
        "#,
    );
    release(
        "mr-lock-redis",
        10_000,
        ("1700000011", "1700000000"),
        "
        GET k -> \"1700000011\"
        clock 1700000010
        DEL k -> 1
        Freed
    ",
    );
    release(
        "mr-lock-redis",
        10_000,
        ("1700000011", "1700000000"),
        "
        GET k -> \"1700000011\"
        clock 1700000011
        LeftAlone
    ",
    );
}

#[test]
fn thinkphp_counts_a_stamp_that_equals_now_as_over_and_nil_as_equal_to_nil() {
    acquire(
        "thinkphp-lockup",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> "1700000000"
        clock 1700000000
        GETSET k 1700000010 -> "1700000000"
        won 1700000010
        "#,
    );
    acquire(
        "thinkphp-lockup",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> nil
        GETSET k 1700000010 -> nil
        won 1700000010
        "#,
    );
    acquire(
        "thinkphp-lockup",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010 -> 0
        GET k -> nil
        GETSET k 1700000010 -> "1700000012"
        held LostTakeover
        "#,
    );
}
