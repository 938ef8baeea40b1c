//! The catalogue as a catalogue.

use std::collections::BTreeSet;

use lockshift::races::{self, Race};

/// The races that articles and reports describe.
const DOCUMENTED: [&str; 33] = [
    "check-then-set",
    "no-lease-crash",
    "crash-before-expire",
    "script-half-applied",
    "double-takeover",
    "loser-moves-lease",
    "stale-stamp-shortens-lease",
    "loser-clears-ttl",
    "loser-blocks-release",
    "phantom-after-nil-get",
    "equality-loser-phantom",
    "mine-counts-as-free",
    "late-unlock",
    "ttl-is-not-ownership",
    "check-then-del",
    "later-owner-satisfies-ge",
    "rounded-stamp-misses-release",
    "clock-skew-steal",
    "absolute-expire",
    "overrun",
    "renewal-too-late",
    "shared-renewal-flag",
    "unlock-says-yes-after-loss",
    "one-attempt-short",
    "reader-deletes-reader",
    "last-reader-speaks-for-all",
    "same-millisecond",
    "failover-loses-lock",
    "partial-quorum-stays",
    "token-read-as-stamp",
    "binary-read-as-stamp",
    "seconds-read-as-millis",
    "token-client-starves",
];

/// Those that nobody had listed.
const BESIDE: [&str; 10] = [
    "lost-reply-locks-for-ever",
    "stamp-written-back",
    "get-then-set",
    "taken-without-writing",
    "newer-stamp-wins",
    "phantom-after-release",
    "loser-outlives-winner",
    "release-misses-key",
    "late-expire",
    "failover-loses-fence",
];

#[test]
fn every_documented_race_is_there_and_so_are_ten_more() {
    let actual: Vec<_> = races::catalogue().map(|race| race.id).collect();
    let expected: BTreeSet<_> = DOCUMENTED.into_iter().chain(BESIDE).collect();
    assert_eq!(actual.iter().copied().collect::<BTreeSet<_>>(), expected);
    assert_eq!(actual.len(), DOCUMENTED.len() + BESIDE.len(), "no id twice");
}

#[test]
fn a_race_is_found_by_its_id() {
    assert_eq!(races::find("late-unlock").map(|race| race.title), Some("A late release frees somebody else's lock"));
    assert!(races::find("no-such-race").is_none());
}

#[test]
fn every_entry_says_all_it_should() {
    each(|race| !race.title.is_empty() && race.story.ends_with('.'), "has a title, and a story in sentences");
    each(|race| !race.sources.is_empty(), "says where it comes from");
    each(|race| race.sketch.blame < race.sketch.marks.len(), "blames one of the steps of its sketch");
    each(|race| race.remedies.iter().all(|remedy| !remedy.because.is_empty()), "says why each remedy helps");
    each(
        |race| !race.remedies.is_empty() || race.id.starts_with("failover"),
        "names a remedy, unless it is a fault of the only server",
    );
    each(|race| race.remark.is_none_or(|remark| remark.ends_with('.')), "remarks in sentences");
}

fn each(is_so: impl Fn(&Race) -> bool, rule: &str) {
    let broken: Vec<_> = races::catalogue().filter(|race| !is_so(race)).map(|race| race.id).collect();
    assert!(broken.is_empty(), "every race {rule}, but not {broken:?}");
}
