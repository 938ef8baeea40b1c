//! Token locks without an expiry, as redis-py acquires where no timeout is given: they last until they are released, and those
//! of a holder that dies for ever.

use lockshift::race_id::RaceId;

use super::written::{audit, races};

const CYCLES: &str = r#"1700000000.000000 [0 10.0.0.1:1] "SET" "lock" "abc32ceeeb6911f198cc02fc00000001" "NX"
1700000050.000000 [0 10.0.0.2:1] "SET" "lock" "ac1f3a34eb6911f198cc02fc00000001" "NX"
1700000090.000000 [0 10.0.0.1:1] "EVALSHA" "c3f8721cbb97f72bc19e972846bd7aaf91901658" "1" "lock" "abc32ceeeb6911f198cc02fc00000001"
1700000090.000010 [0 lua] "get" "lock"
1700000090.000020 [0 lua] "del" "lock"
1700000090.000100 [0 10.0.0.2:1] "SET" "lock" "ac1f3a34eb6911f198cc02fc00000001" "NX"
"#;

#[test]
fn a_token_lock_without_expiry_outlasts_no_lease() {
    let found = audit(CYCLES);
    assert_eq!(found.locks[0].dialects, ["token"]);
    let statistics = &found.locks[0].statistics;
    let counts = (statistics.acquisitions, statistics.releases, statistics.refusals, statistics.overruns);
    assert_eq!((counts, statistics.unrecognised), ((2, 1, 1, 0), 0), "{statistics:#?}");
    assert!(found.findings.is_empty(), "{:?}", found.findings);
}

#[test]
fn a_holder_that_dies_without_expiry_locks_for_ever() {
    let silent = "1700007290.000000 [0 10.0.0.1:1] \"SET\" \"lock\" \"b02d4ee2eb6911f198cc02fc00000001\" \"NX\"\n";
    let found = audit(&format!("{CYCLES}{silent}"));
    assert_eq!(races(&found).iter().map(|(race, _)| *race).collect::<Vec<_>>(), [Some(RaceId::NoLeaseCrash)]);
}
