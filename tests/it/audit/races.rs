//! Every race of the catalogue, turned into a trace, is found there, and no other.

use std::num::NonZeroUsize;

use lockshift::audit::Certainty;
use lockshift::race_id::RaceId;
use lockshift::races;

use super::written::Before::{self, ARound, Nothing};
use super::written::Then::{self, Ends, GoesOn, Later};
use super::written::{audit, continued, monitored, rounds};

/// For each race: what its clients have done before, how the schedule goes on, and what is found. What happens to one
/// client in its own memory, or between two servers, is in no trace of one server.
const EXPECTED_FINDINGS: &[(&str, Before, Then, &[&str])] = &[
    ("check-then-set", Nothing, Ends, &["check-then-set"]),
    ("no-lease-crash", Nothing, Later(100), &["no-lease-crash"]),
    ("lost-reply-locks-for-ever", Nothing, Later(100), &["lost-reply-locks-for-ever"]),
    ("crash-before-expire", ARound, Later(100), &["crash-before-expire"]),
    ("script-half-applied", Nothing, Ends, &["script-half-applied"]),
    ("stamp-written-back", Nothing, Ends, &["stamp-written-back"]),
    ("get-then-set", Nothing, Ends, &["get-then-set"]),
    // Its clients write nothing that could be seen.
    ("taken-without-writing", Nothing, Ends, &[]),
    ("newer-stamp-wins", Nothing, Ends, &["newer-stamp-wins"]),
    ("double-takeover", Nothing, Later(100), &["double-takeover"]),
    ("loser-moves-lease", Nothing, Ends, &["loser-moves-lease"]),
    ("stale-stamp-shortens-lease", Nothing, Ends, &["stale-stamp-shortens-lease"]),
    ("mine-counts-as-free", Nothing, Later(100), &["mine-counts-as-free"]),
    ("loser-blocks-release", Nothing, Later(10), &["loser-blocks-release"]),
    ("phantom-after-nil-get", Nothing, Later(100), &["phantom-after-nil-get"]),
    ("phantom-after-release", Nothing, Later(100), &["phantom-after-release"]),
    ("equality-loser-phantom", ARound, Ends, &["equality-loser-phantom"]),
    ("loser-outlives-winner", Nothing, Ends, &["loser-outlives-winner"]),
    ("rounded-stamp-misses-release", Nothing, Later(10), &["rounded-stamp-misses-release"]),
    ("release-misses-key", Nothing, Later(100), &["release-misses-key"]),
    ("loser-clears-ttl", Nothing, Later(100), &["loser-clears-ttl"]),
    ("late-expire", Nothing, Later(100), &["late-expire"]),
    ("absolute-expire", Nothing, Later(100), &["absolute-expire"]),
    ("late-unlock", Nothing, Later(100), &["late-unlock"]),
    ("ttl-is-not-ownership", Nothing, Later(100), &["ttl-is-not-ownership"]),
    ("check-then-del", Nothing, Later(100), &["check-then-del"]),
    ("later-owner-satisfies-ge", Nothing, Later(100), &["later-owner-satisfies-ge"]),
    ("clock-skew-steal", Nothing, Later(100), &["clock-skew-steal"]),
    ("overrun", Nothing, GoesOn, &["overrun"]),
    ("renewal-too-late", Nothing, GoesOn, &["renewal-too-late"]),
    // That one process holds both locks is not in a trace: what is seen is that its work outlasts the lease. Here the
    // third client is as late with its release.
    ("shared-renewal-flag", Nothing, Later(100), &["overrun", "overrun"]),
    ("unlock-says-yes-after-loss", Nothing, Ends, &["overrun"]),
    ("one-attempt-short", Nothing, Later(100), &[]),
    // Read/write locks are counted and not judged.
    ("reader-deletes-reader", Nothing, Ends, &[]),
    ("last-reader-speaks-for-all", Nothing, Ends, &[]),
    ("same-millisecond", Nothing, Ends, &[]),
    // Several servers.
    ("failover-loses-lock", Nothing, Ends, &[]),
    ("partial-quorum-stays", Nothing, Ends, &[]),
    ("failover-loses-fence", Nothing, Ends, &[]),
    ("token-read-as-stamp", Nothing, Later(100), &["token-read-as-stamp"]),
    ("binary-read-as-stamp", Nothing, Later(100), &["binary-read-as-stamp"]),
    ("seconds-read-as-millis", Nothing, Later(100), &["seconds-read-as-millis"]),
    ("token-client-starves", Nothing, Later(100), &["token-client-starves"]),
];

#[test]
fn every_id_of_a_race_is_in_the_catalogue() {
    let ids: Vec<_> = races::catalogue().map(|race| race.id.name()).collect();
    let known: Vec<_> = RaceId::ALL.iter().map(|race| race.name()).collect();
    assert_eq!(ids, known);
}

#[test]
fn each_race_is_found_in_its_trace_and_no_other() {
    let ids: Vec<_> = races::catalogue().map(|race| race.id.name()).collect();
    let shown: Vec<_> = EXPECTED_FINDINGS.iter().map(|(id, ..)| *id).collect();
    assert_eq!(shown, ids, "each race of the catalogue has a row here");
    let mut wrong = Vec::new();
    for (id, before, then, expected) in EXPECTED_FINDINGS {
        let race = races::find(id).unwrap();
        let found = race.reproduce(NonZeroUsize::MIN, &mut |_| ()).unwrap();
        let (scene, actions) = continued(&race.scenario.scene(), &found.actions, *then);
        let text = rounds(&scene, *before) + &monitored(&scene.narrate(race.violates, &actions));
        let audit = audit(&text);
        let shown: Vec<_> =
            audit.findings.iter().map(|finding| finding.verdict.race.map_or("none", RaceId::name)).collect();
        if shown != *expected {
            wrong.push(format!("{id}: {shown:?} for {expected:?}\n{:#?}\n{text}", audit.findings));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Three clients of `php-getset` with a lease of a second. The second one's GET finds nothing, and its GETSET a stamp of this
/// second. By the server's clock it has lost; by its own, which is fast, it has won, and sends EXPIRE.
const WON_BY_A_FAST_CLOCK: &str = r#"1700000022.616000 [0 10.0.0.1:1] "SETNX" "lock" "1700000023"
1700000022.701000 [0 10.0.0.1:1] "EXPIRE" "lock" "1"
1700000022.826000 [0 10.0.0.1:1] "TTL" "lock"
1700000023.068000 [0 10.0.0.1:1] "DEL" "lock"
1700000023.084000 [0 10.0.0.3:1] "SETNX" "lock" "1700000023"
1700000023.115000 [0 10.0.0.3:1] "EXPIRE" "lock" "1"
1700000023.552000 [0 10.0.0.2:1] "SETNX" "lock" "1700000024"
1700000024.375000 [0 10.0.0.2:1] "GET" "lock"
1700000024.419000 [0 10.0.0.1:1] "SETNX" "lock" "1700000024"
1700000024.593000 [0 10.0.0.2:1] "GETSET" "lock" "1700000024"
1700000024.625000 [0 10.0.0.1:1] "EXPIRE" "lock" "1"
1700000024.830000 [0 10.0.0.2:1] "EXPIRE" "lock" "1"
1700000024.929000 [0 10.0.0.2:1] "TTL" "lock"
1700000024.999000 [0 10.0.0.2:1] "DEL" "lock"
"#;

#[test]
fn a_loss_by_the_clock_alone_is_not_certain() {
    let audit = audit(WON_BY_A_FAST_CLOCK);
    let certain: Vec<_> = audit.findings.iter().filter(|it| it.verdict.certainty == Certainty::Certain).collect();
    assert!(certain.is_empty(), "{certain:?}");
}
