//! C# and Go: the steps that set each row apart.

use crate::walk::{acquire, release};

#[test]
fn servicestack_watches_what_it_judges() {
    acquire(
        "servicestack",
        10_000,
        r#"
        clock 1700000000
        SET k 1700000010001 NX -> nil
        WATCH k -> OK
        GET k -> "1699999999999"
        clock 1700000000
        MULTI -> OK
        SET k "\"1700000010001\"" -> QUEUED
        EXEC -> [OK]
        won \"1700000010001\"
        "#,
    );
    acquire(
        "servicestack",
        10_000,
        r#"
        clock 1700000000
        SET k 1700000010001 NX -> nil
        WATCH k -> OK
        GET k -> "1699999999999"
        clock 1700000000
        MULTI -> OK
        SET k "\"1700000010001\"" -> QUEUED
        EXEC -> nil
        held LostTakeover
        "#,
    );
    for (seen, clock, end) in [
        ("nil", "", "held Vanished"),
        ("\"a-token\"", "clock 1700000000", "held Live"),
        ("\"1700000000001\"", "clock 1700000000", "held Live for 1ms"),
        ("\"\\x221700000000001\\x22\"", "clock 1700000000", "held Live for 1ms"),
    ] {
        acquire(
            "servicestack",
            10_000,
            &format!(
                r#"
                clock 1700000000
                SET k 1700000010001 NX -> nil
                WATCH k -> OK
                GET k -> {seen}
                {clock}
                UNWATCH -> OK
                {end}
                "#
            ),
        );
    }
}

#[test]
fn servicestack_takes_over_what_another_takeover_has_written_in_quotes() {
    acquire(
        "servicestack",
        10_000,
        r#"
        clock 1700000000
        SET k 1700000010001 NX -> nil
        WATCH k -> OK
        GET k -> "\x221699999999999\x22"
        clock 1700000000
        MULTI -> OK
        SET k "\"1700000010001\"" -> QUEUED
        EXEC -> [OK]
        won \"1700000010001\"
        "#,
    );
    // Its predecessor reads the value without its quotes and compares it with what GETSET returns, quotes and all.
    acquire(
        "servicestack-4.0.34",
        10_000,
        r#"
        clock 1700000000
        SET k 1700000010001 NX -> nil
        GET k -> "\x221699999999999\x22"
        clock 1700000000
        GETSET k 1700000010001 -> "\x221699999999999\x22"
        held LostTakeover
        "#,
    );
}

#[test]
fn servicestack_of_2012_takes_what_is_not_above_now() {
    acquire(
        "servicestack-2012",
        10_000,
        r#"
        clock 1700000000
        SETNX k 1700000010001 -> 0
        GET k -> "1700000000000"
        clock 1700000000
        GETSET k 1700000010001 -> "1700000000000"
        won 1700000010001
        "#,
    );
}

#[test]
fn the_distributed_lock_of_servicestack_writes_little_endian_seconds() {
    // 1700000000.5 + 10 + 1.5 is 1700000012.
    acquire(
        "servicestack-distributed-lock",
        10_000,
        r#"
        clock 1700000000.5
        SETNX k "\x0c\xf1Se\x00\x00\x00\x00" -> 0
        WATCH k -> OK
        GET k -> nil
        clock 1700000000.5
        MULTI -> OK
        SET k "\x0c\xf1Se\x00\x00\x00\x00" -> QUEUED
        EXEC -> [OK]
        won \x0c\xf1Se\x00\x00\x00\x00
        "#,
    );
    release(
        "servicestack-distributed-lock",
        10_000,
        ("\\x0c\\xf1Se\\x00\\x00\\x00\\x00", "1700000000.5"),
        r#"
        WATCH k -> OK
        GET k -> "\x0c\xf1Se\x00\x00\x00\x00"
        MULTI -> OK
        DEL k -> QUEUED
        EXEC -> [1]
        Freed
    "#,
    );
}

#[test]
fn newlife_counts_from_the_start_of_its_machine() {
    acquire(
        "newlife",
        10_000,
        r#"
        clock 1700000000 up 12.345
        SET k 22345 EX 10 NX -> nil
        GET k -> "12345"
        GETSET k 22345 -> "12345"
        EXPIRE k 10 -> 1
        won 22345
        "#,
    );
    acquire(
        "newlife",
        10_000,
        r#"
        clock 1700000000 up 12.345
        SET k 22345 EX 10 NX -> nil
        GET k -> "12000"
        GETSET k 22345 -> "22001"
        held LostTakeover
        "#,
    );
    acquire(
        "newlife-2017",
        10_000,
        r#"
        clock 1700000000.123 up 12.345
        SET k "2023-11-14 22:13:30.123" EX 10 NX -> nil
        GET k -> "2023-11-14 22:13:21.123"
        held Live for 1s
        "#,
    );
}

#[test]
fn gorlock_attempts_again_when_the_key_has_disappeared() {
    acquire(
        "gorlock",
        1_500,
        r#"
        clock 1700000000
        SET k 1700000001500000000 PX 1500 NX -> nil
        GET k -> nil
        held Vanished
        "#,
    );
    // go-redis writes whole seconds as EX.
    acquire(
        "gorlock",
        2_000,
        r#"
        clock 1700000000
        SET k 1700000002000000000 EX 2 NX -> OK
        EXPIRE k 2 -> 1
        won 1700000002000000000
        "#,
    );
    acquire(
        "gorlock",
        1_500,
        r#"
        clock 1700000000
        SET k 1700000001500000000 PX 1500 NX -> nil
        GET k -> "1699999999999999999"
        clock 1700000000
        clock 1700000001
        GETSET k 1700000002500000000 -> nil
        held LostTakeover
        "#,
    );
    acquire(
        "gorlock-setnx",
        1_500,
        r#"
        clock 1700000000
        SETNX k 1700000001500000000 -> 0
        GET k -> "1699999999999999999"
        clock 1700000000
        clock 1700000001
        GETSET k 1700000002500000000 -> "1699999999999999999"
        EXPIRE k 2 -> 1
        won 1700000002500000000
        "#,
    );
    acquire(
        "gorlock-millis-as-seconds",
        1_500,
        r#"
        clock 1700000000
        SETNX k 1700000001500000000 -> 1
        EXPIRE k 1500 -> 1
        won 1700000001500000000
        "#,
    );
}

#[test]
fn redigolock_sets_value_and_ttl_in_one_transaction() {
    acquire(
        "redigolock",
        10_000,
        r#"
        clock 1700000000
        WATCH k -> OK
        GET k -> nil
        clock 1700000001
        MULTI -> OK
        SET k 1700000011000 -> QUEUED
        PEXPIRE k 10000 -> QUEUED
        EXEC -> [OK, 1]
        won 1700000011000
        "#,
    );
    acquire(
        "redigolock",
        10_000,
        r#"
        clock 1700000000
        WATCH k -> OK
        GET k -> "1700000001000"
        clock 1700000000
        held Live for 1s
        "#,
    );
}

#[test]
fn l2met_wins_by_raising_the_stamp() {
    acquire(
        "l2met",
        10_000,
        r#"
        clock 1700000000
        GETSET k 1700000011 -> "1700000010"
        won 1700000011
        "#,
    );
    acquire(
        "l2met",
        10_000,
        r#"
        clock 1700000000
        GETSET k 1700000011 -> "1700000011"
        held LostTakeover
        "#,
    );
    release(
        "l2met",
        10_000,
        ("1700000011", "1700000000"),
        "
        LeftAlone
    ",
    );
}

#[test]
fn seconds_on_the_first_day_and_ticks() {
    acquire(
        "stackexchange-ticks",
        10_000,
        r#"
        clock 1700000000.0000001
        SETNX k 638355968100000001 -> 0
        GET k -> "638355968000000001"
        clock 1700000000.0000001
        GETSET k 638355968100000001 -> "638355968000000001"
        won 638355968100000001
        "#,
    );
}
