//! Holders that extend their lock as their old client does: resque-lock-timeout writes a new stamp by SET.

use lockshift::audit::Certainty;
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
    let taken_over = r#"1700000031.000000 [0 10.0.0.2:1] "SETNX" "lock" "1700000061"
1700000031.000100 [0 10.0.0.2:1] "GET" "lock"
1700000031.000200 [0 10.0.0.2:1] "GETSET" "lock" "1700000061"
1700000032.000000 [0 10.0.0.1:1] "SET" "lock" "1700000062"
1700000033.000000 [0 10.0.0.2:1] "DEL" "lock"
1700000034.000000 [0 10.0.0.1:1] "DEL" "lock"
"#;
    let found = audit(&format!("{ACQUIRED}{taken_over}"));
    assert_eq!(races(&found), [(Some(RaceId::RenewalTooLate), Certainty::Certain)], "{:?}", found.findings);
}
