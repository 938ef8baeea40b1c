//! What exploring the catalogue finds, in numbers: `found.txt`.

use std::fmt::Write;
use std::num::NonZeroUsize;

use lockshift::races::{self, BehindGuard, GuardVerdict, Race, RaceResult, Reproduction, Scenario};

use crate::golden::golden;

pub(super) const ONE_THREAD: NonZeroUsize = NonZeroUsize::MIN;

/// How the file begins.
const HEAD: &str = "\
# What exploring the catalogue finds: for each race the steps of a shortest schedule, the step to blame, and the
# distinct states met on the way; its variations; and the states of each remedy, explored to the end for longer than its
# race; and the race with its old clients behind guards.
";

/// A race and its variations, found.
pub(super) fn find(race: &'static Race) -> Vec<(&'static str, Scenario, Option<Reproduction>)> {
    let itself = ("as described", race.scenario, race.reproduce(ONE_THREAD, &mut |_| ()));
    let vary = |variation: &'static races::Variation| {
        (variation.what, variation.scenario, variation.reproduce(ONE_THREAD, &mut |_| ()))
    };
    std::iter::once(itself).chain(race.variations.iter().map(vary)).collect()
}

#[test]
fn every_race_is_found_and_every_remedy_is_clean_to_the_end() {
    let mut actual = HEAD.to_owned();
    for race in races::catalogue() {
        let result = race.explored(ONE_THREAD, &mut |_, _| ());
        assert!(result.is_as_described(), "{}", lines(&result));
        actual += &lines(&result);
    }
    golden("tests/it/races/found.txt", &actual);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let two = NonZeroUsize::new(2).unwrap();
    let race = races::find("stale-stamp-shortens-lease").unwrap();
    assert_eq!(lines(&race.explored(ONE_THREAD, &mut |_, _| ())), lines(&race.explored(two, &mut |_, _| ())));
}

/// What an result comes to: steps, states, and the step to blame, counted from 1.
fn lines(result: &RaceResult) -> String {
    let mut lines = String::new();
    let mut tell = |indent: &str, name: &str, found: &Option<Reproduction>| {
        let shown = found.as_ref().map_or("not found".to_owned(), |found| {
            let (steps, states) = (found.actions.len(), found.states);
            let blame = found.trace.blame.map_or(0, |blame| blame + 1);
            let other = if found.fits_sketch { "" } else { ", ANOTHER RACE" };
            format!("{steps} steps, blame {blame}, {states} states{other}")
        });
        writeln!(lines, "{indent}{name}: {shown}").unwrap();
    };
    tell("", result.race.id.name(), &result.found);
    for (variation, found) in &result.variations {
        tell("  also: ", variation.what, found);
    }
    for (remedy, checked) in &result.prevented_by {
        let verdict = match (checked.reproduced, checked.exhausted) {
            (true, _) => "BREAKS",
            (false, true) => "clean",
            (false, false) => "UNKNOWN",
        };
        writeln!(lines, "  not with {}: {verdict}, {} states", remedy.name(&result.race.scenario), checked.states)
            .unwrap();
    }
    for BehindGuard { protocol, verdict, because } in &result.behind_guards {
        let verdict = match verdict {
            GuardVerdict::Unguardable(unguardable) => unguardable.to_string(),
            GuardVerdict::Prevented(checked) => format!("clean, {} states", checked.states),
            GuardVerdict::Remains(checked) => {
                let verdict = if checked.reproduced { "breaks" } else { "UNKNOWN" };
                format!("{verdict} within {} states: {}", checked.states, because.unwrap_or("NO REASON"))
            }
        };
        writeln!(lines, "  behind {protocol}: {verdict}").unwrap();
    }
    lines
}
