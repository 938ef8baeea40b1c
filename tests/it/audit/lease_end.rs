//! When a lease ends: when the first of stamp and time to live does. After that its holder overruns.

use lockshift::audit::Certainty;
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
