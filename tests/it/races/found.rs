//! What exploring the catalogue finds, in numbers: `found.txt`.

use std::fmt::Write;
use std::num::NonZeroUsize;

use lockshift::races::{self, Account, Cast, Found, Race};

pub(super) const ONE_THREAD: NonZeroUsize = NonZeroUsize::MIN;

const EXPECTED: &str = include_str!("found.txt");

/// A race and its variations, found.
pub(super) fn find(race: &'static Race) -> Vec<(&'static str, Cast, Option<Found>)> {
    let itself = ("as described", race.cast, race.reproduce(ONE_THREAD, &mut |_| ()));
    let vary = |variation: &'static races::Variation| {
        (variation.what, variation.cast, variation.reproduce(ONE_THREAD, &mut |_| ()))
    };
    std::iter::once(itself).chain(race.variations.iter().map(vary)).collect()
}

#[test]
fn every_race_is_found_and_every_remedy_is_clean_to_the_end() {
    let mut actual = String::new();
    for race in races::catalogue() {
        let account = race.account(ONE_THREAD, &mut |_, _| ());
        assert!(account.is_as_described(), "{}", lines(&account));
        actual += &lines(&account);
    }
    let expected: String = EXPECTED.lines().filter(|line| !line.starts_with('#')).fold(String::new(), add_line);
    for (number, (found, told)) in (1..).zip(actual.lines().zip(expected.lines())) {
        assert_eq!(found, told, "line {number} of found.txt, comments not counted; all that was found:\n{actual}");
    }
    assert_eq!(actual.lines().count(), expected.lines().count(), "all that was found:\n{actual}");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let two = NonZeroUsize::new(2).unwrap();
    let race = races::find("stale-stamp-shortens-lease").unwrap();
    assert_eq!(lines(&race.account(ONE_THREAD, &mut |_, _| ())), lines(&race.account(two, &mut |_, _| ())));
}

/// What an account comes to: steps, states, and the step to blame, counted from 1.
fn lines(account: &Account) -> String {
    let mut lines = String::new();
    let mut tell = |indent: &str, name: &str, found: &Option<Found>| {
        let told = found.as_ref().map_or("not found".to_owned(), |found| {
            let (steps, states) = (found.actions.len(), found.states);
            let blame = found.trace.blame.map_or(0, |blame| blame + 1);
            let other = if found.is_it { "" } else { ", ANOTHER RACE" };
            format!("{steps} steps, blame {blame}, {states} states{other}")
        });
        writeln!(lines, "{indent}{name}: {told}").unwrap();
    };
    tell("", account.race.id, &account.found);
    for (variation, found) in &account.variations {
        tell("  also: ", variation.what, found);
    }
    for (remedy, checked) in &account.prevented_by {
        let verdict = match (checked.reproduced, checked.exhausted) {
            (true, _) => "BREAKS",
            (false, true) => "clean",
            (false, false) => "UNKNOWN",
        };
        writeln!(lines, "  not with {}: {verdict}, {} states", remedy.name(&account.race.cast), checked.states)
            .unwrap();
    }
    lines
}

fn add_line(text: String, line: &str) -> String {
    text + line + "\n"
}
