//! When a lease ends: when the first of stamp and time to live does. After that its holder overruns.

use lockshift::audit::{Audit, Certainty};
use lockshift::race_id::RaceId;

use super::written::{audit, races};

/// Two clients of `java-getset` with a lease of five seconds, whose stamps lie six seconds ahead: after an earlier round,
/// one acquires and goes on for longer, the other acquires when Redis has deleted the key.
const OVERRUN: &str = r#"
1699999980.000000 [0 10.0.0.1:1] "SETNX" "lock" "\x00\x00\x01\x8b\xcf\xe51P"
1699999980.000200 [0 10.0.0.1:1] "EXPIRE" "lock" "5"
1699999980.100000 [0 10.0.0.1:1] "DEL" "lock"
1700000000.000000 [0 10.0.0.1:1] "SETNX" "lock" "\x00\x00\x01\x8b\xcf\xe5\x7fp"
1700000000.000200 [0 10.0.0.1:1] "EXPIRE" "lock" "5"
1700000004.000000 [0 10.0.0.2:1] "SETNX" "lock" "\x00\x00\x01\x8b\xcf\xe5\x8f\x10"
1700000004.000200 [0 10.0.0.2:1] "GET" "lock"
1700000005.200000 [0 10.0.0.2:1] "SETNX" "lock" "\x00\x00\x01\x8b\xcf\xe5\x93\xc0"
1700000005.200200 [0 10.0.0.2:1] "EXPIRE" "lock" "5"
"#;

#[test]
fn a_holder_that_outlives_its_key_and_not_its_stamp_overruns() {
    let other_first = r#"1700000005.300000 [0 10.0.0.2:1] "DEL" "lock"
1700000005.400000 [0 10.0.0.1:1] "DEL" "lock"
"#;
    let found = audit(&format!("{}{other_first}", OVERRUN.trim_start()));
    assert_eq!(found.locks[0].dialects, ["java-getset"]);
    assert_eq!((found.locks[0].statistics.acquisitions, found.locks[0].statistics.overruns), (3, 1));
    assert_eq!(races(&found), [(Some(RaceId::Overrun), Certainty::Certain)], "{:?}", found.findings);
}

#[test]
fn its_late_release_deletes_the_lock_of_the_next_holder() {
    let holder_first = r#"1700000005.300000 [0 10.0.0.1:1] "DEL" "lock"
1700000005.400000 [0 10.0.0.2:1] "DEL" "lock"
"#;
    let found = audit(&format!("{}{holder_first}", OVERRUN.trim_start()));
    assert_eq!(races(&found), [(Some(RaceId::LateUnlock), Certainty::Certain)], "{:?}", found.findings);
}

/// A client of redis-py asks whether it still owns its lock, or extends it by hand, and goes on for longer than the lease.
#[test]
fn a_holder_that_looks_at_its_lock_overruns_all_the_same() {
    let [alice, bob] = ["0a1b2c3d4e5f60718293a4b5c6d7e8f9", "f9e8d7c6b5a4938271605f4e3d2c1b0a"];
    let release = |line: &str, port, token, then: &str| {
        let script =
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
        format!(
            "{line}00 [0 10.0.0.{port}:1] \"EVAL\" \"{script}\" \"1\" \"lock\" \"{token}\"\n{line}00 [0 lua] \"get\" \"lock\"\n{then}"
        )
    };
    let mut without_a_look = None;
    for look in [
        "",
        r#""GET" "lock""#,
        r#""EXISTS" "lock""#,
        r#""TTL" "lock""#,
        r#""PTTL" "lock""#,
        r#""PEXPIRE" "lock" "900""#,
        r#""EXPIRE" "lock" "1""#,
    ] {
        let mut text = String::new();
        for round in 0..3 {
            let at = |ms: u32| format!("{}.{:03}0", 1_700_000_000 + 10 * round + ms / 1000, ms % 1000);
            text += &format!("{}00 [0 10.0.0.1:1] \"SET\" \"lock\" \"{alice}\" \"NX\" \"PX\" \"1000\"\n", at(0));
            if !look.is_empty() {
                text += &format!("{}00 [0 10.0.0.1:1] {look}\n", at(100));
            }
            text += &format!("{}00 [0 10.0.0.2:1] \"SET\" \"lock\" \"{bob}\" \"NX\" \"PX\" \"1000\"\n", at(1500));
            text += &release(&at(1700), 1, alice, "");
            text += &release(&at(1900), 2, bob, &format!("{}00 [0 lua] \"del\" \"lock\"\n", at(1900)));
        }
        let found = audit(&text);
        let statistics = &found.locks[0].statistics;
        assert_eq!((statistics.acquisitions, statistics.overruns), (6, 3), "{look}: {statistics:?}");
        let expected = without_a_look.get_or_insert_with(|| races(&found));
        assert_eq!(races(&found), *expected, "{look}: {:?}", found.findings);
    }
}

#[test]
fn a_stamp_less_than_a_second_ahead_may_name_the_acquisition() {
    let overrun = |stamp: &str| {
        audit(&format!(
            r#"1699999940.900000 [0 10.0.0.1:1] "SETNX" "lock" "1699999970"
1699999941.900000 [0 10.0.0.1:1] "DEL" "lock"
1700000000.900000 [0 10.0.0.1:1] "SETNX" "lock" "{stamp}"
1700000005.900000 [0 10.0.0.1:1] "DEL" "lock"
"#
        ))
    };
    assert_eq!(races(&overrun("1700000001")), [(Some(RaceId::Overrun), Certainty::Possible)]);
    assert_eq!(races(&overrun("1700000003")), [(Some(RaceId::Overrun), Certainty::Certain)]);
}

/// Of two PHP clients one lets its lease of a second end, and looks. The other acquires then. The first one loses its takeover,
/// in the same second, and the other releases its lock.
#[test]
fn an_expired_hold_is_not_revived_by_the_lost_takeover_of_its_client() {
    let found = audit(
        r#"1796076210.100201 [0 10.0.0.1:1] "SETNX" "lock" "1796076211"
1796076210.100754 [0 10.0.0.1:1] "EXPIRE" "lock" "1"
1796076210.101110 [0 10.0.0.1:1] "TTL" "lock"
1796076210.101180 [0 10.0.0.1:1] "DEL" "lock"
1796076210.101368 [0 10.0.0.2:1] "SETNX" "lock" "1796076211"
1796076210.101646 [0 10.0.0.2:1] "EXPIRE" "lock" "1"
1796076211.102533 [0 10.0.0.2:1] "GET" "lock"
1796076211.105010 [0 10.0.0.1:1] "SETNX" "lock" "1796076212"
1796076211.105241 [0 10.0.0.1:1] "EXPIRE" "lock" "1"
1796076211.105497 [0 10.0.0.2:1] "GETSET" "lock" "1796076212"
1796076211.123966 [0 10.0.0.1:1] "TTL" "lock"
1796076211.124089 [0 10.0.0.1:1] "DEL" "lock"
"#,
    );
    assert_eq!(races(&found), [], "{:?}", found.findings);
    let statistics = &found.locks[0].statistics;
    assert_eq!((statistics.acquisitions, statistics.releases, statistics.lapsed), (3, 2, 1));
}

/// A PHP client lets its lease of five seconds end, and another one tries in the millisecond of that, so many microseconds
/// after the second; then come these lines.
fn at_the_end(tried_us: u32, then: &str) -> Audit {
    audit(&format!(
        r#"1796074820.000000 [0 10.0.0.1:1] "SETNX" "lock" "1796074825"
1796074820.000200 [0 10.0.0.1:1] "EXPIRE" "lock" "5"
1796074820.000400 [0 10.0.0.1:1] "TTL" "lock"
1796074820.000500 [0 10.0.0.1:1] "DEL" "lock"
1796074824.024850 [0 10.0.0.1:1] "SETNX" "lock" "1796074829"
1796074824.025001 [0 10.0.0.1:1] "EXPIRE" "lock" "5"
1796074829.{tried_us:06} [0 10.0.0.2:1] "SETNX" "lock" "1796074834"
{then}"#
    ))
}

#[test]
fn what_a_client_does_next_says_whether_it_acquired_in_the_millisecond_of_an_expiry() {
    let acquired = r#"1796074829.027200 [0 10.0.0.2:1] "EXPIRE" "lock" "5"
1796074829.043464 [0 10.0.0.3:1] "SETNX" "lock" "1796074834"
1796074829.043671 [0 10.0.0.3:1] "GET" "lock"
1796074829.075516 [0 10.0.0.2:1] "TTL" "lock"
1796074829.075634 [0 10.0.0.2:1] "DEL" "lock"
"#;
    let refused = r#"1796074829.028200 [0 10.0.0.2:1] "GET" "lock"
1796074829.028400 [0 10.0.0.2:1] "GETSET" "lock" "1796074834"
1796074829.028600 [0 10.0.0.2:1] "EXPIRE" "lock" "5"
1796074829.075516 [0 10.0.0.2:1] "TTL" "lock"
1796074829.075634 [0 10.0.0.2:1] "DEL" "lock"
"#;
    for (then, acquired_by) in [(acquired, "SETNX"), (refused, "GETSET")] {
        for tried_us in [25_000, 25_886, 26_000, 26_999] {
            let found = at_the_end(tried_us, then);
            assert_eq!(races(&found), [], "{acquired_by} {tried_us}: {:?}", found.findings);
            let episodes: Vec<_> = found.episodes.iter().map(|it| (&*it.client, it.until.is_some())).collect();
            let expected = [("10.0.0.1:1", true), ("10.0.0.1:1", false), ("10.0.0.2:1", true)];
            assert_eq!(episodes, expected, "{acquired_by} {tried_us}");
            let since = found.episodes[2].since.as_nanos() / 1_000 % 1_000_000;
            assert_eq!(since == i64::from(tried_us), acquired_by == "SETNX", "{tried_us}: {since}");
            let statistics = &found.locks[0].statistics;
            assert_eq!((statistics.acquisitions, statistics.pooled, statistics.unrecognised), (3, 0, 0), "{tried_us}");
        }
    }
}

#[test]
fn nothing_certain_follows_from_an_attempt_at_an_expiry_after_which_its_client_sends_nothing() {
    let then = r#"1796074831.000000 [0 10.0.0.3:1] "SETNX" "lock" "1796074836"
1796074831.000200 [0 10.0.0.3:1] "EXPIRE" "lock" "5"
1796074832.000000 [0 10.0.0.3:1] "TTL" "lock"
1796074832.000100 [0 10.0.0.3:1] "DEL" "lock"
"#;
    for tried_us in [25_000, 26_999] {
        let found = at_the_end(tried_us, then);
        assert!(races(&found).iter().all(|(_, certainty)| *certainty == Certainty::Possible), "{:?}", found.findings);
    }
}
