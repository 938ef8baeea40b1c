//! Commands that may change a lock in a way that the audit does not follow: what it finds there is at most possible.

use lockshift::audit::{Audit, Certainty};
use lockshift::race_id::RaceId;

use super::written::{audit, races};

/// A client works for longer than its lease, and meanwhile another one sends this.
fn meanwhile(command: &str) -> Audit {
    audit(&format!(
        r#"1700000000.000000 [0 10.0.0.1:1] "SET" "lock" "abc32ceeeb6911f198cc02fc00000001" "NX" "PX" "30000"
1700000000.500000 [0 10.0.0.1:1] "EVALSHA" "c3f8721cbb97f72bc19e972846bd7aaf91901658" "1" "lock" "abc32ceeeb6911f198cc02fc00000001"
1700000000.500010 [0 lua] "get" "lock"
1700000000.500020 [0 lua] "del" "lock"
1700000000.600000 [0 10.0.0.1:1] "SET" "lock" "abc32ceeeb6911f198cc02fc00000002" "NX" "PX" "300"
1700000001.000000 [0 10.0.0.9:1] {command}
1700000002.000000 [0 10.0.0.2:1] "SET" "lock" "ac1f3a34eb6911f198cc02fc00000001" "NX" "PX" "30000"
1700000003.000000 [0 10.0.0.1:1] "EVALSHA" "c3f8721cbb97f72bc19e972846bd7aaf91901658" "1" "lock" "abc32ceeeb6911f198cc02fc00000002"
1700000003.000010 [0 lua] "get" "lock"
"#
    ))
}

#[test]
fn what_is_found_where_a_command_is_not_followed_is_at_most_possible() {
    let check = |command: &str, unfollowed: u64, certainty: Certainty| {
        let found = meanwhile(command);
        let statistics = &found.locks[0].statistics;
        assert_eq!((statistics.unfollowed, statistics.unrecognised), (unfollowed, 0), "{command}: {statistics:#?}");
        assert_eq!(races(&found), [(Some(RaceId::Overrun), certainty)], "{command}");
    };
    for command in [
        r#""MOVE" "lock" "1""#,
        r#""restore" "lock" "0" "\x00" "REPLACE""#,
        r#""COPY" "other" "lock" "REPLACE""#,
        r#""GETEX" "lock" "PX" "1""#,
        r#""MSET" "a" "1" "lock" "2""#,
        r#""SINTERSTORE" "lock" "one" "other""#,
        r#""RPOPLPUSH" "queue" "lock""#,
        r#""LMPOP" "2" "queue" "lock" "LEFT""#,
        r#""GEORADIUS" "places" "1" "2" "3" "km" "STORE" "lock""#,
        r#""JSON.SET" "lock" "$" "1""#,
    ] {
        check(command, 1, Certainty::Possible);
    }
    for command in [r#""MOVE" "other" "1""#, r#""HSET" "other" "lock" "1""#, r#""LPOS" "lock" "1""#, r#""PING""#] {
        check(command, 0, Certainty::Certain);
    }
}

/// The lock of mlanett/redis-lock is in two keys, and its owner names it.
#[test]
fn a_change_of_a_part_counts_where_the_lock_does() {
    let found = audit(
        r#"1700000000.000000 [0 10.0.0.1:1] "MSETNX" "lock:owner:a" "host:4711" "lock:expire:a" "1700000010"
1700000001.000000 [0 10.0.0.9:1] "RESTORE" "lock:expire:a" "0" "\x00" "REPLACE"
"#,
    );
    let counts = found.locks.iter().map(|lock| (lock.key.to_string(), lock.statistics.unfollowed));
    assert_eq!(counts.collect::<Vec<_>>(), [("lock:owner:a".to_owned(), 1)]);
}
