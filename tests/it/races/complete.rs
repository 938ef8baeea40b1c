//! The catalogue as a catalogue.

use std::collections::BTreeSet;

use lockshift::races::{self, Race};

#[test]
fn no_two_races_have_the_same_id() {
    let mut ids = BTreeSet::new();
    each(|race| ids.insert(race.id), "has an id of its own");
}

#[test]
fn a_race_is_found_by_its_id() {
    assert_eq!(races::find("late-unlock").map(|race| race.title), Some("A late release frees another client's lock"));
    assert!(races::find("no-such-race").is_none());
}

#[test]
fn every_entry_says_all_it_should() {
    each(|race| !race.title.is_empty() && race.story.ends_with('.'), "has a title, and a story in sentences");
    each(|race| !race.sources.is_empty(), "says where it comes from");
    each(|race| race.sketch.blame < race.sketch.marks.len(), "blames one of the steps of its sketch");
    each(|race| race.remedies.iter().all(|remedy| !remedy.because.is_empty()), "says why each remedy helps");
    each(
        |race| !race.remedies.is_empty() || race.id.name().starts_with("failover"),
        "names a remedy, unless it is a fault of the only server",
    );
    each(|race| race.remark.is_none_or(|remark| remark.ends_with('.')), "remarks in sentences");
}

fn each(mut is_so: impl FnMut(&Race) -> bool, rule: &str) {
    let broken: Vec<_> = races::catalogue().filter(|race| !is_so(race)).map(|race| race.id).collect();
    assert!(broken.is_empty(), "every race {rule}, but not {broken:?}");
}
