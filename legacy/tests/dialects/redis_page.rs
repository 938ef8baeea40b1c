//! The locks of the Redis SETNX page.

use crate::walk::{acquire, release};

#[test]
fn the_page_wins_as_long_as_what_it_overwrites_is_expired() {
    acquire(
        "setnx-page",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000011 -> 0
        GET k -> "1699999999"
        clock 1700000000
        clock 1700000001
        GETSET k 1700000012 -> "1699999999"
        clock 1700000001
        won 1700000012
        "#,
    );
    acquire(
        "setnx-page",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000011 -> 0
        GET k -> nil
        held Vanished
        "#,
    );
    release(
        "setnx-page",
        10_000,
        ("1700000011", "1700000000"),
        "
        clock 1700000010
        DEL k -> 1
        Freed
    ",
    );
    release(
        "setnx-page",
        10_000,
        ("1700000011", "1700000000"),
        "
        clock 1700000011
        LeftAlone
    ",
    );
}

#[test]
fn a_stamp_that_equals_now_has_expired_for_the_wiki_and_not_for_the_page() {
    acquire(
        "setnx-wiki",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000011 -> 0
        GET k -> "1700000000"
        clock 1700000000
        clock 1700000000
        GETSET k 1700000011 -> "1700000000"
        clock 1700000000
        won 1700000011
        "#,
    );
    acquire(
        "setnx-page",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000011 -> 0
        GET k -> "1700000000"
        clock 1700000000
        held Live for 0ns
        "#,
    );
}

#[test]
fn what_the_page_warns_of() {
    acquire(
        "setnx-page-del",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000011 -> 0
        GET k -> "1699999999"
        clock 1700000000
        clock 1700000000
        DEL k -> 1
        SETNX k 1700000011 -> 1
        won 1700000011
        "#,
    );
}
