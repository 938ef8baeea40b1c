//! Searches that keep only some bits of each state, beside searches that keep states whole.

use std::num::NonZeroUsize;

use lockshift::explore::{Bounds, End, Property, Search};

use super::locks::{getset, token};
use super::{crowd, violated};

/// With room for all their bits, what is found by the bits of states is what is found by whole states.
#[test]
fn states_that_are_hashed_break_the_same_rules_on_schedules_as_short() {
    let all =
        [Property::MutualExclusion, Property::LeaseHonoured, Property::ReleasesOnlyOwn, Property::TruthfulOutcome];
    for (locker, alike) in [(getset(2), true), (token(2), true), (getset(2), false)] {
        let scene = crowd(&locker, 3, Bounds::ticks(3).crashes(1));
        let search = Search::new(&scene).properties(&all).symmetry(alike);
        let whole = search.run(&mut |_| ());
        let hashed = search.hashed_to(Some(64 << 20)).run(&mut |_| ());
        assert_eq!((whole.end, hashed.end), (End::Exhausted, End::Hashed));
        assert_eq!((hashed.states, hashed.steps, hashed.depth), (whole.states, whole.steps, whole.depth));
        assert_eq!(violated(&hashed), violated(&whole));
        assert!(hashed.taken_for_others < 0.01, "{}", hashed.taken_for_others);
        for violation in &hashed.violations {
            // If the steps were not possible in this order, or broke no rule, the trace would differ or blame nobody.
            let trace = scene.narrate(violation.property, &violation.actions);
            assert_eq!(trace, violation.trace);
            assert!(trace.blame.is_some(), "{}: {trace:?}", violation.property);
        }
        let two = search.hashed_to(Some(64 << 20)).threads(NonZeroUsize::new(2).unwrap()).run(&mut |_| ());
        assert_eq!((two.states, two.violations), (hashed.states, hashed.violations));
    }
}

/// In a table that is too small states are left out, and the search says how many; what it finds breaks the rule.
#[test]
fn states_that_do_not_fit_their_table_are_left_out_and_counted() {
    let scene = crowd(&getset(2), 3, Bounds::ticks(3).crashes(1));
    let search = Search::new(&scene);
    let whole = search.run(&mut |_| ());
    let hashed = search.hashed_to(Some(64 << 10)).run(&mut |_| ());
    let left_out = (whole.states - hashed.states) as f64;
    assert!(left_out > 1_000.0, "{left_out}");
    // States to which only those lead were not seen either.
    assert!(hashed.taken_for_others > 100.0 && hashed.taken_for_others < left_out, "{}", hashed.taken_for_others);
    assert_eq!(hashed.end, End::Hashed);
    assert_eq!(violated(&hashed).len(), 1);
}
