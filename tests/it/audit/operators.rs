//! What no protocol sends: deletions of several keys, commands without effect, scripts whose calls are not listed.

use std::fmt::Write;

use lockshift::audit::{Audit, Auditor, Certainty};
use lockshift::monitor::{Line, Parser, Source};
use lockshift::race_id::RaceId;
use lockshift::wire::{Command, Reply, UnixTime};

use super::written::audit;

const ALICE: &str = "a11ce000a11ce000a11ce000a11ce000";
const BOB: &str = "b0b00000b0b00000b0b00000b0b00000";

/// A client has acquired and released the lock, acquires it again with a token, and then an operator sends this; what another
/// client sends follows.
fn held_while(operator: &str, then: &str) -> Audit {
    audit(&format!(
        r#"1700000000.000000 [0 10.0.0.1:1] "SET" "lock" "{BOB}" "NX" "PX" "30000"
1700000000.100000 [0 10.0.0.1:1] "DEL" "lock"
1700000001.000000 [0 10.0.0.1:1] "SET" "lock" "{ALICE}" "NX" "PX" "30000"
1700000002.000000 [0 10.0.0.9:9] {operator}
{then}"#
    ))
}

#[test]
fn each_key_that_is_deleted_with_others_counts() {
    let then = format!("1700000003.000000 [0 10.0.0.2:1] \"SET\" \"lock\" \"{BOB}\" \"NX\" \"PX\" \"30000\"\n");
    let alone = held_while(r#""DEL" "lock""#, &then);
    assert_eq!(alone.locks[0].statistics.acquisitions, 3, "{alone:#?}");
    for operator in [r#""DEL" "cache" "lock""#, r#""UNLINK" "lock" "cache" "more""#] {
        let found = held_while(operator, &then);
        assert_eq!(format!("{:?}", found.locks), format!("{:?}", alone.locks), "{operator}");
    }
}

/// One command releases two locks.
#[test]
fn two_locks_are_released_by_one_command() {
    let (mut text, mut at) = (String::new(), 0);
    let mut says = |client: u32, words: &str| {
        at += 1;
        writeln!(text, "1700000000.{at:06} [0 10.0.0.{client}:1] {words}").unwrap();
    };
    for _ in 0..3 {
        for client in [1, 2] {
            says(client, r#""SET" "lock:1" "1" "NX" "EX" "30""#);
            says(client, r#""SET" "lock:2" "1" "NX" "EX" "30""#);
            says(client, r#""DEL" "lock:1" "lock:2""#);
        }
    }
    says(9, r#""FLUSHALL""#);
    let found = audit(&text);
    assert!(found.findings.is_empty(), "{:?}", found.findings);
    let counts = found.locks.iter().map(|lock| (lock.statistics.acquisitions, lock.statistics.releases));
    assert_eq!(counts.collect::<Vec<_>>(), [(6, 6), (6, 6)]);
}

#[test]
fn commands_that_the_server_refuses_change_nothing() {
    for operator in [r#""FLUSHALL" "NOW""#, r#""FLUSHDB" "ASYNC" "SYNC""#, r#""SWAPDB" "0" "0""#, r#""SWAPDB" "0" "x""#]
    {
        let found = held_while(operator, "");
        assert!(found.findings.is_empty(), "{operator}: {:?}", found.findings);
    }
}

#[test]
fn a_rename_of_which_the_effect_is_not_known_is_not_followed() {
    for operator in [r#""RENAMENX" "lock" "backup""#, r#""RENAME" "made" "lock""#] {
        let found = held_while(operator, "");
        assert!(found.findings.is_empty(), "{operator}: {:?}", found.findings);
        assert_eq!(found.locks[0].statistics.unfollowed, 1, "{operator}");
    }
}

#[test]
fn a_lock_in_the_database_to_which_a_key_is_moved_may_have_changed() {
    for operator in [r#""MOVE" "lock" "0""#, r#""COPY" "other" "lock" "DB" "0" "REPLACE""#] {
        let moved = format!("1700000002.000000 [1 10.0.0.9:9] {operator}\n");
        let found = held_while("\"PING\"", &moved);
        assert_eq!(found.locks[0].statistics.unfollowed, 1, "{operator}");
    }
}

/// A capture has no calls of scripts: a release by a script that no known protocol has is one all the same.
#[test]
fn a_release_by_a_script_whose_calls_are_not_listed_leaves_no_certain_double_hold() {
    let script =
        r#"if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end --own"#;
    let (mut auditor, mut at_ms) = (Auditor::new(), 1_700_000_000_000_i64);
    let mut says = |client: u32, words: &[&str], reply: Reply| {
        at_ms += 10;
        let at = UnixTime::from_millis(at_ms).unwrap();
        let client = format!("10.0.0.1:{client}");
        let command = Command::from_words(words.iter().copied()).unwrap();
        let line = Line::new(at, 0, Source::Client(client.as_bytes()), &command);
        auditor.read_answered(
            u64::try_from(at_ms).unwrap(),
            &line,
            Some((reply, UnixTime::from_millis(at_ms + 1).unwrap())),
        );
    };
    for client in 1..=6 {
        let token = format!("{client:032x}");
        says(client, &["SET", "lock", &token, "NX", "PX", "30000"], Reply::ok());
        says(client, &["EVAL", script, "1", "lock", &token], Reply::Int(1));
    }
    let found = auditor.finish();
    assert!(found.findings.is_empty(), "{:?}", found.findings);
    assert!(found.locks[0].statistics.unrecognised > 0, "it is no all-clear");
}

/// A key that is not there cannot be renamed, and COPY to another database leaves its own as it is.
#[test]
fn commands_that_find_nothing_leave_no_doubt() {
    let then = r#"1700000003.000000 [0 10.0.0.1:1] "DEL" "lock"
1700000004.000000 [0 10.0.0.9:9] "RENAME" "lock" "old"
"#;
    for operator in [r#""PING""#, r#""COPY" "cache" "lock" "DB" "1""#] {
        let found = held_while(operator, then);
        assert!(found.findings.is_empty(), "{operator}: {:?}", found.findings);
        assert_eq!(found.locks[0].statistics.unfollowed, 0, "{operator}");
    }
}

/// It is kept until its late release, however many other commands come between.
#[test]
fn a_lock_that_has_ended_is_not_forgotten_before_its_late_release() {
    let mut text = "1700000000.000000 [0 10.0.0.1:1] \"SET\" \"lock\" \"1\" \"NX\" \"EX\" \"1\"\n".to_owned();
    for number in 0..70_000 {
        writeln!(text, "{}.{:06} [0 10.0.0.9:9] \"GET\" \"cache\"", 1_700_000_001 + number / 7_000, number % 7_000)
            .unwrap();
    }
    text += "1700000012.000000 [0 10.0.0.1:1] \"DEL\" \"lock\"\n";
    let found = audit(&text);
    assert_eq!(found.findings.len(), 1, "{:?}", found.findings);
}

/// One connection of several tasks: what is found as it happens is no surer than the audit is.
#[test]
fn what_is_found_as_it_happens_is_no_surer_than_the_audit() {
    let lines = [
        (0, r#""SET" "lock" "1" "NX" "EX" "1""#),
        (100, r#""DEL" "lock""#),
        (200, r#""SET" "lock" "1" "NX" "EX" "1""#),
        (1_400, r#""SET" "lock" "1" "NX" "EX" "1""#),
        (1_500, r#""DEL" "lock""#),
        (1_600, r#""SET" "lock" "1" "NX" "EX" "1""#),
        (1_700, r#""DEL" "lock""#),
        (1_800, r#""DEL" "lock""#),
    ];
    let (mut auditor, mut parser) = (Auditor::new(), Parser::new());
    auditor.new_findings();
    let mut new = Vec::new();
    for (number, (at_ms, words)) in (1..).zip(lines) {
        let line = format!("{}.{:03}000 [0 10.0.0.1:1] {words}", 1_700_000_000 + at_ms / 1000, at_ms % 1000);
        auditor.read(number, &parser.parse(line.as_bytes()).unwrap());
        new.extend(auditor.new_findings());
    }
    let of = |race: Option<RaceId>, findings: &[lockshift::audit::Finding]| {
        findings.iter().filter(|it| it.verdict.race == race).map(|it| it.verdict.certainty).max()
    };
    let found = auditor.finish();
    assert!(!new.is_empty(), "{:?}", found.findings);
    for race in new.iter().map(|finding| finding.verdict.race) {
        assert_eq!(of(race, &new), of(race, &found.findings), "{race:?}");
    }
}

/// A lock that was forgotten, and whose key an operator has set since, is not free.
#[test]
fn what_a_key_of_a_forgotten_lock_holds_is_not_known_once_it_was_written() {
    let mut text = String::new();
    let mut at_ms = 1_700_000_000_000_u64;
    let mut says = |pause_ms: u64, client: &str, words: &str| {
        at_ms += pause_ms;
        writeln!(text, "{}.{:03}000 [0 {client}] {words}", at_ms / 1000, at_ms % 1000).unwrap();
    };
    for _ in 0..3 {
        says(1, "10.0.0.1:1", r#""SET" "lock" "1" "NX" "EX" "30""#);
        says(1, "10.0.0.1:1", r#""DEL" "lock""#);
    }
    for number in 0..70_000 {
        says(1, "10.0.0.9:9", &format!("\"GET\" \"cache:{number}\""));
    }
    says(1, "10.0.0.9:9", r#""SET" "lock" "maintenance" "EX" "3600""#);
    says(1, "10.0.0.2:2", r#""SET" "lock" "1" "NX" "EX" "30""#);
    says(1, "10.0.0.9:9", r#""RENAME" "lock" "old""#);
    let found = audit(&text);
    assert!(found.findings.iter().all(|it| it.verdict.certainty != Certainty::Certain), "{:?}", found.findings);
}

/// SETEX over a token that a client holds is no attempt that a protocol knows, as SET without NX is none; of a key that no
/// client acquires, it is what a cache sends.
#[test]
fn setex_counts_like_set_where_clients_acquire() {
    for command in [r#""SET" "lock" "{}" "EX" "30""#, r#""SETEX" "lock" "30" "{}""#, r#""PSETEX" "lock" "30000" "{}""#]
    {
        let found = held_while(&command.replace("{}", BOB), "");
        assert_eq!(found.locks[0].statistics.unrecognised, 1, "{command}: {found:#?}");
    }
    let cache = r#"1700000000.000000 [0 10.0.0.1:1] "GET" "page"
1700000000.100000 [0 10.0.0.1:1] "SETEX" "page" "30" "one"
1700000000.200000 [0 10.0.0.2:1] "GET" "page"
1700000031.000000 [0 10.0.0.2:1] "GET" "page"
1700000031.100000 [0 10.0.0.2:1] "SETEX" "page" "30" "two"
"#;
    let counted = audit(cache).locks.iter().map(|lock| lock.statistics.unrecognised).sum::<u64>();
    assert_eq!(counted, 0);
}
