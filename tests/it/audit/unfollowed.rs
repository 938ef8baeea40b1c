//! Commands that change a lock in a way that the audit does not follow: what comes after them is not certain.

use lockshift::audit::{Audit, Certainty};

use super::written::{audit, races};

/// A client acquires, something happens, and another client acquires before the lease ends.
fn meanwhile(command: &str) -> Audit {
    audit(&format!(
        r#"1700000000.000000 [0 10.0.0.1:1] "SET" "lock" "abc32ceeeb6911f198cc02fc00000001" "NX" "PX" "30000"
1700000001.000000 [0 10.0.0.9:1] {command}
1700000002.000000 [0 10.0.0.2:1] "SET" "lock" "ac1f3a34eb6911f198cc02fc00000001" "NX" "PX" "30000"
1700000003.000000 [0 10.0.0.2:1] "EVALSHA" "c3f8721cbb97f72bc19e972846bd7aaf91901658" "1" "lock" "ac1f3a34eb6911f198cc02fc00000001"
1700000003.000010 [0 lua] "get" "lock"
1700000003.000020 [0 lua] "del" "lock"
"#
    ))
}

#[test]
fn a_command_that_is_not_followed_is_counted_where_it_may_have_changed_a_lock() {
    for command in [
        r#""MOVE" "lock" "1""#,
        r#""restore" "lock" "0" "\x00" "REPLACE""#,
        r#""COPY" "other" "lock" "REPLACE""#,
        r#""GETEX" "lock" "PX" "1""#,
        r#""MSET" "a" "1" "lock" "2""#,
        r#""SINTERSTORE" "lock" "one" "other""#,
    ] {
        let found = meanwhile(command);
        let statistics = &found.locks[0].statistics;
        assert_eq!((statistics.unfollowed, statistics.unrecognised), (1, 0), "{command}: {statistics:#?}");
        assert!(
            races(&found).iter().all(|(_, certainty)| *certainty < Certainty::Certain),
            "{command}: {:?}",
            races(&found)
        );
    }
    for command in [r#""MOVE" "other" "1""#, r#""HSET" "other" "lock" "1""#, r#""PING""#] {
        assert_eq!(meanwhile(command).locks[0].statistics.unfollowed, 0, "{command}");
    }
}
