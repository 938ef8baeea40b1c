//! What follows from a race is one finding with it: with the clients and the certainty of all that it rests on.

use lockshift::audit::Certainty;
use lockshift::race_id::RaceId;

use super::written::{audit, races};

/// A round of each of three clients of a dialect that reads its own stamp to release, and a lock of a fourth that ends.
const ROUNDS: &str = r#"1699999900.000000 [0 10.0.0.1:1] "SETNX" "lock" "1699999910.0"
1699999900.100000 [0 10.0.0.1:1] "GET" "lock"
1699999900.100100 [0 10.0.0.1:1] "DEL" "lock"
1699999901.000000 [0 10.0.0.2:1] "SETNX" "lock" "1699999911.0"
1699999901.100000 [0 10.0.0.2:1] "GET" "lock"
1699999901.100100 [0 10.0.0.2:1] "DEL" "lock"
1699999902.000000 [0 10.0.0.3:1] "SETNX" "lock" "1699999912.0"
1699999902.100000 [0 10.0.0.3:1] "GET" "lock"
1699999902.100100 [0 10.0.0.3:1] "DEL" "lock"
1700000000.100000 [0 10.0.0.9:1] "SETNX" "lock" "1700000002.0"
"#;

/// The stamp of the loser 10.0.0.2 ends the lease of 10.0.0.1 early, and 10.0.0.3 acquires beside it.
const DOUBLE_HOLD: &str = r#"1700000003.000000 [0 10.0.0.2:1] "SETNX" "lock" "1700000007.0"
1700000003.010000 [0 10.0.0.2:1] "GET" "lock"
1700000005.000000 [0 10.0.0.1:1] "SETNX" "lock" "1700000015.0"
1700000005.010000 [0 10.0.0.1:1] "GET" "lock"
1700000005.060000 [0 10.0.0.1:1] "GETSET" "lock" "1700000015.0"
1700000005.070000 [0 10.0.0.2:1] "GETSET" "lock" "1700000007.0"
1700000005.100000 [0 10.0.0.2:1] "SETNX" "lock" "1700000009.1"
1700000005.110000 [0 10.0.0.2:1] "GET" "lock"
1700000008.000000 [0 10.0.0.3:1] "SETNX" "lock" "1700000018.0"
1700000008.010000 [0 10.0.0.3:1] "GET" "lock"
1700000008.020000 [0 10.0.0.4:1] "SETNX" "lock" "1700000018.1"
1700000008.030000 [0 10.0.0.4:1] "GET" "lock"
1700000008.040000 [0 10.0.0.3:1] "GETSET" "lock" "1700000018.0"
"#;

#[test]
fn a_double_hold_stays_one_when_its_first_holder_cannot_release() {
    // Another loser overwrites what the second holder wrote.
    let more = r#"1700000008.050000 [0 10.0.0.4:1] "GETSET" "lock" "1700000018.1"
1700000008.100000 [0 10.0.0.4:1] "SETNX" "lock" "1700000018.1"
1700000008.110000 [0 10.0.0.4:1] "GET" "lock"
1700000010.000000 [0 10.0.0.1:1] "GET" "lock"
1700000013.000000 [0 10.0.0.4:1] "SETNX" "lock" "1700000023.1"
1700000013.010000 [0 10.0.0.4:1] "GET" "lock"
"#;
    let double_hold = [(Some(RaceId::StaleStampShortensLease), Certainty::Certain)];
    let found = audit(&[ROUNDS, DOUBLE_HOLD].concat());
    assert_eq!(races(&found), double_hold, "{:?}", found.findings);
    let found = audit(&[ROUNDS, DOUBLE_HOLD, more].concat());
    assert_eq!(races(&found)[0], double_hold[0], "{:?}", found.findings);
}

#[test]
fn the_loser_that_a_finding_names_is_among_its_clients() {
    let losers = r#"1700000005.000000 [0 10.0.0.1:1] "SETNX" "lock" "1700000015.0"
1700000005.010000 [0 10.0.0.1:1] "GET" "lock"
1700000005.020000 [0 10.0.0.2:1] "SETNX" "lock" "1700000015.1"
1700000005.030000 [0 10.0.0.2:1] "GET" "lock"
1700000005.040000 [0 10.0.0.3:1] "SETNX" "lock" "1700000015.2"
1700000005.050000 [0 10.0.0.3:1] "GET" "lock"
1700000005.060000 [0 10.0.0.1:1] "GETSET" "lock" "1700000015.0"
1700000005.070000 [0 10.0.0.2:1] "GETSET" "lock" "1700000015.1"
1700000005.080000 [0 10.0.0.3:1] "GETSET" "lock" "1700000015.2"
1700000005.100000 [0 10.0.0.2:1] "SETNX" "lock" "1700000015.1"
1700000005.110000 [0 10.0.0.2:1] "GET" "lock"
1700000005.120000 [0 10.0.0.3:1] "SETNX" "lock" "1700000015.1"
1700000005.130000 [0 10.0.0.3:1] "GET" "lock"
1700000008.000000 [0 10.0.0.1:1] "GET" "lock"
1700000011.000000 [0 10.0.0.2:1] "SETNX" "lock" "1700000021.0"
"#;
    let found = audit(&[ROUNDS, losers].concat());
    assert_eq!(races(&found)[0].0, Some(RaceId::LoserBlocksRelease), "{:?}", found.findings);
    assert!(found.findings[0].verdict.clients.iter().any(|client| **client == *"10.0.0.3:1"), "{:?}", found.findings);
}

#[test]
fn a_release_that_is_only_likely_makes_no_certain_race() {
    let release_or_look = r#"1699999900.000000 [0 10.0.0.1:1] "SETNX" "lock" "1699999910"
1699999900.100000 [0 10.0.0.1:1] "GET" "lock"
1699999900.100100 [0 10.0.0.1:1] "DEL" "lock"
1699999901.000000 [0 10.0.0.2:1] "SETNX" "lock" "1699999911"
1699999901.100000 [0 10.0.0.2:1] "GET" "lock"
1699999901.100100 [0 10.0.0.2:1] "DEL" "lock"
1699999902.000000 [0 10.0.0.3:1] "SETNX" "lock" "1699999912"
1699999902.100000 [0 10.0.0.3:1] "GET" "lock"
1699999902.100100 [0 10.0.0.3:1] "DEL" "lock"
1700000000.100000 [0 10.0.0.9:1] "SETNX" "lock" "1700000002"
1700000005.000000 [0 10.0.0.1:1] "SETNX" "lock" "1700000015"
1700000005.010000 [0 10.0.0.1:1] "GET" "lock"
1700000005.020000 [0 10.0.0.2:1] "SETNX" "lock" "1700000015"
1700000005.030000 [0 10.0.0.2:1] "GET" "lock"
1700000005.060000 [0 10.0.0.1:1] "GETSET" "lock" "1700000015"
1700000005.070000 [0 10.0.0.2:1] "GETSET" "lock" "1700000017"
1700000005.100000 [0 10.0.0.2:1] "SETNX" "lock" "1700000015"
1700000005.110000 [0 10.0.0.2:1] "GET" "lock"
1700000008.000000 [0 10.0.0.1:1] "GET" "lock"
1700000020.000000 [0 10.0.0.2:1] "PING"
"#;
    let found = audit(release_or_look);
    assert_eq!(races(&found), [(Some(RaceId::LoserBlocksRelease), Certainty::Possible)], "{:?}", found.findings);
}

#[test]
fn what_rests_on_the_first_acquisition_of_a_trace_is_not_certain() {
    let late_expire = r#"1700000000.000000 [0 10.0.0.1:1] "SETNX" "lock" "1700000001"
1700000005.000000 [0 10.0.0.2:1] "SETNX" "lock" "1700000035"
1700000005.010000 [0 10.0.0.2:1] "GET" "lock"
1700000005.020000 [0 10.0.0.2:1] "GETSET" "lock" "1700000035"
1700000005.030000 [0 10.0.0.2:1] "EXPIRE" "lock" "30"
1700000006.000000 [0 10.0.0.1:1] "EXPIRE" "lock" "2"
1700000007.000000 [0 10.0.0.2:1] "TTL" "lock"
1700000007.100000 [0 10.0.0.2:1] "DEL" "lock"
"#;
    let too_late = r#"1700000000.000000 [0 10.0.0.2:1] "SETNX" "lock" "1700000031"
1700000031.000000 [0 10.0.0.3:1] "SETNX" "lock" "1700000061"
1700000031.000100 [0 10.0.0.3:1] "GET" "lock"
1700000031.000200 [0 10.0.0.3:1] "GETSET" "lock" "1700000061"
1700000032.000000 [0 10.0.0.2:1] "SET" "lock" "1700000062"
1700000033.000000 [0 10.0.0.3:1] "DEL" "lock"
1700000034.000000 [0 10.0.0.2:1] "DEL" "lock"
"#;
    for (text, race) in [(late_expire, RaceId::LateExpire), (too_late, RaceId::RenewalTooLate)] {
        let found = audit(text);
        assert_eq!(races(&found), [(Some(race), Certainty::Possible)], "{:?}", found.findings);
    }
}
