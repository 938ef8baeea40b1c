//! Holders that extend their lock: resque-lock-timeout writes a new stamp by SET, the locks of this project by a script.

use lockshift::audit::{Audit, Certainty};
use lockshift::race_id::RaceId;

use super::written::{audit, races};

const ACQUIRED: &str = r#"1700000000.000000 [0 10.0.0.1:1] "SETNX" "lock" "1700000030"
"#;

#[test]
fn a_refresh_lengthens_the_lease_and_is_no_attempt() {
    let refreshed = r#"1700000010.000000 [0 10.0.0.1:1] "SET" "lock" "1700000040"
1700000035.000000 [0 10.0.0.2:1] "SETNX" "lock" "1700000065"
1700000035.000100 [0 10.0.0.2:1] "GET" "lock"
1700000035.000200 [0 10.0.0.2:1] "SETNX" "lock" "1700000065"
1700000036.000000 [0 10.0.0.1:1] "DEL" "lock"
"#;
    let found = audit(&format!("{ACQUIRED}{refreshed}"));
    assert_eq!(found.locks[0].dialects, ["resque-lock-timeout"]);
    let statistics = &found.locks[0].statistics;
    assert_eq!((statistics.acquisitions, statistics.releases, statistics.overruns), (1, 1, 0), "{statistics:#?}");
    assert_eq!(statistics.unrecognised, 0);
    assert!(found.findings.is_empty(), "{:?}", found.findings);
}

#[test]
fn a_refresh_behind_the_next_holder_is_too_late() {
    let round = r#"1699999000.000000 [0 10.0.0.1:1] "SETNX" "lock" "1699999030"
1699999001.000000 [0 10.0.0.1:1] "DEL" "lock"
"#;
    let taken_over = r#"1700000031.000000 [0 10.0.0.2:1] "SETNX" "lock" "1700000061"
1700000031.000100 [0 10.0.0.2:1] "GET" "lock"
1700000031.000200 [0 10.0.0.2:1] "GETSET" "lock" "1700000061"
1700000032.000000 [0 10.0.0.1:1] "SET" "lock" "1700000062"
1700000033.000000 [0 10.0.0.2:1] "DEL" "lock"
1700000034.000000 [0 10.0.0.1:1] "DEL" "lock"
"#;
    let found = audit(&format!("{round}{ACQUIRED}{taken_over}"));
    assert_eq!(races(&found), [(Some(RaceId::RenewalTooLate), Certainty::Certain)], "{:?}", found.findings);
}

/// A client writes `first` to acquire, and `second` over a second later to extend its lock; `release` is what it sends then.
fn extended_by_script(first: &str, second: &str, release: &str) -> Audit {
    audit(&format!(
        r#"1700000000.100000 [0 10.0.0.1:1] "SETNX" "lock" "{first}"
1700000002.400000 [0 10.0.0.1:1] "EVALSHA" "a87f47b127da3000643f115bfb1682b955333cfa" "1" "lock" "{first}" "{second}" "31000" "0"
1700000002.400010 [0 lua] "get" "lock"
1700000002.400020 [0 lua] "pttl" "lock"
1700000002.400030 [0 lua] "set" "lock" "{second}"
1700000003.900000 [0 10.0.0.1:1] {release}"#
    ))
}

#[test]
fn an_extension_of_a_lock_whose_value_names_the_acquisition_is_no_end_of_a_lease() {
    let found = extended_by_script("1700000000", "1700000002", "\"DEL\" \"lock\"\n");
    let names = &found.locks[0].dialects;
    assert!(names.iter().any(|name| name == "php-acquired-at"), "{names:?}");
    assert_eq!(found.locks[0].statistics.overruns, 0);
    assert!(found.findings.is_empty(), "{:?}", found.findings);
}

#[test]
fn a_client_that_releases_its_own_stamp_alone_is_known_after_an_extension() {
    let release = r#""GET" "lock"
1700000003.900100 [0 10.0.0.1:1] "DEL" "lock"
"#;
    // The first stamp was made before the second in which it arrived.
    let found = extended_by_script("1700000030", "1700000033", release);
    let names = &found.locks[0].dialects;
    assert!(names.iter().any(|name| name == "mr-lock-redis"), "{names:?}");
    assert!(found.findings.is_empty(), "{:?}", found.findings);
}

/// As redis-py 8.1 extends: by a script that no protocol of this project has, and long before the lease ends.
#[test]
fn an_early_extension_by_an_unknown_script_ends_no_hold() {
    let found = audit(
        r#"1700000000.000000 [0 10.0.0.1:1] "SET" "lock" "abc32ceeeb6911f198cc02fc00000001" "NX" "PX" "300"
1700000000.000300 [0 10.0.0.1:1] "EVALSHA" "a4e8783852e6b949f9ef3a97212805108459a890" "1" "lock" "abc32ceeeb6911f198cc02fc00000001" "100" "0"
1700000000.000310 [0 lua] "get" "lock"
1700000000.000320 [0 lua] "pttl" "lock"
1700000000.000330 [0 lua] "pexpire" "lock" "399"
1700000000.600000 [0 10.0.0.2:1] "SET" "lock" "ac1f3a34eb6911f198cc02fc00000001" "NX" "PX" "2000"
1700000000.700000 [0 10.0.0.1:1] "EVALSHA" "c3f8721cbb97f72bc19e972846bd7aaf91901658" "1" "lock" "abc32ceeeb6911f198cc02fc00000001"
1700000000.700010 [0 lua] "get" "lock"
1700000000.800000 [0 10.0.0.2:1] "EVALSHA" "c3f8721cbb97f72bc19e972846bd7aaf91901658" "1" "lock" "ac1f3a34eb6911f198cc02fc00000001"
1700000000.800010 [0 lua] "get" "lock"
1700000000.800020 [0 lua] "del" "lock"
"#,
    );
    let statistics = &found.locks[0].statistics;
    assert_eq!((statistics.acquisitions, statistics.releases), (2, 2), "{statistics:#?}");
    // What the key held before the trace began is not known.
    assert_eq!(races(&found), [(Some(RaceId::Overrun), Certainty::Possible)], "{:?}", found.findings);
}

#[test]
fn a_script_that_only_looks_at_the_own_lock_releases_nothing() {
    let found = audit(
        r#"1700000000.000000 [0 10.0.0.1:1] "SET" "lock" "abc32ceeeb6911f198cc02fc00000001" "NX" "PX" "9000"
1700000001.000000 [0 10.0.0.1:1] "EVAL" "return redis.call('get', KEYS[1]) == ARGV[1]" "1" "lock" "abc32ceeeb6911f198cc02fc00000001"
1700000001.000010 [0 lua] "get" "lock"
1700000002.000000 [0 10.0.0.1:1] "EVALSHA" "c3f8721cbb97f72bc19e972846bd7aaf91901658" "1" "lock" "abc32ceeeb6911f198cc02fc00000001"
1700000002.000010 [0 lua] "get" "lock"
1700000002.000020 [0 lua] "del" "lock"
"#,
    );
    let statistics = &found.locks[0].statistics;
    assert_eq!((statistics.acquisitions, statistics.releases, statistics.multiplexed), (1, 1, 0), "{statistics:#?}");
    assert!(found.findings.is_empty(), "{:?}", found.findings);
    assert!(statistics.held.quantile(0.5) > Some(std::time::Duration::from_millis(1_800)), "{statistics:#?}");
}

/// A job that acquires by the first command, extends its lock so often, ten seconds apart, by what is sent at a time, and
/// releases it by the last ones. A command after `lua` is called by the script before it.
fn held_for_long(acquire: &str, release: &str, times: u64, extend: impl Fn(u64) -> String) -> Audit {
    let begin = 1_700_000_000;
    let lines = |at: u64, commands: &str| {
        let line = |(place, command): (usize, &str)| match command.strip_prefix("lua ") {
            Some(call) => format!("{at}.{place:06} [0 lua] {call}\n"),
            None => format!("{at}.{place:06} [0 10.0.0.1:1] {command}\n"),
        };
        commands.lines().enumerate().map(line).collect::<String>()
    };
    let extensions = (1..=times).map(|time| lines(begin + 10 * time, &extend(begin + 10 * time)));
    let all = [lines(begin, acquire)].into_iter().chain(extensions);
    let text: String = all.chain([lines(begin + 10 * times + 5, release)]).collect();
    audit(&text)
}

/// A conversation grows with every extension, and so must not the time to read the next one.
#[test]
fn a_lock_that_is_extended_for_days_is_one_hold() {
    const TIMES: u64 = 10_000;
    let token = "5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e";
    let by_token = held_for_long(
        &format!(r#""SET" "lock" "{token}" "NX" "PX" "30000""#),
        &format!(
            r#""EVALSHA" "e4922a95d0d34b474742a54fc2d2f94bd0db7ff8" "1" "lock" "{token}"
lua "get" "lock"
lua "del" "lock""#
        ),
        TIMES,
        |_| {
            format!(
                r#""EVALSHA" "5a4c2563b80bb303f73504b08ff8880a5c8fc91e" "1" "lock" "{token}" "30000"
lua "get" "lock"
lua "pexpire" "lock" "30000""#
            )
        },
    );
    let (acquire, release) = (r#""SETNX" "lock" "1700000030""#, r#""DEL" "lock""#);
    let by_stamp = held_for_long(acquire, release, TIMES, |at| format!(r#""SET" "lock" "{}""#, at + 30));
    let by_script = held_for_long(acquire, release, TIMES, |at| {
        let (own, next) = (at + 20, at + 30);
        format!(
            r#""EVALSHA" "a87f47b127da3000643f115bfb1682b955333cfa" "1" "lock" "{own}" "{next}" "31000" "0"
lua "get" "lock"
lua "pttl" "lock"
lua "set" "lock" "{next}""#
        )
    });
    for (found, name) in [(by_token, "token"), (by_stamp, "resque-lock-timeout"), (by_script, "setnx-page")] {
        let lock = &found.locks[0];
        assert!(lock.dialects.iter().any(|dialect| dialect == name), "{name}: {:?}", lock.dialects);
        let known = &lock.statistics;
        assert_eq!((known.acquisitions, known.releases, known.overruns), (1, 1, 0), "{name}: {known:#?}");
        assert_eq!(known.unrecognised, 0, "{name}");
        assert!(found.findings.is_empty(), "{name}: {:?}", found.findings);
    }
}
