//! Lost for ever, phantoms, and a resource that is written to too late.

use lockshift::explore::{Action, Bounds, End, Property, Scene, Search};

use super::locks::{Mistake, Mistaken, getset, token};
use super::{crowd, search, violated};

const FUTURE: [Property; 2] = [Property::CanBeTakenAgain, Property::NobodyShutOut];

fn with_a_future(mut scene: Scene) -> Scene {
    scene.bounds.afterwards = Some(1000);
    scene
}

#[test]
fn a_lock_without_a_lease_is_lost_with_its_owner() {
    let scene = with_a_future(crowd(&Mistaken::shared(Mistake::NoLease, 2), 2, Bounds::ticks(1).crashes(1)));
    let found = search(&scene, &FUTURE);
    // A reads its clock, sets the key, dies.
    assert_eq!(violated(&found), [(Property::CanBeTakenAgain, 3), (Property::NobodyShutOut, 3)]);
    assert_eq!(found.violations[0].actions, [Action::Step(0), Action::Step(0), Action::Crash(0)]);
    assert_eq!(found.violations[0].trace.blame, Some(2));
}

#[test]
fn a_lock_with_a_lease_is_not() {
    for locker in [getset(2), token(2)] {
        let scene = with_a_future(crowd(&locker, 2, Bounds::ticks(3).crashes(1)));
        let found = search(&scene, &FUTURE);
        assert_eq!((violated(&found), found.end, found.unjudged), (vec![], End::Exhausted, vec![]));
    }
}

/// A search that receives replies at once sees fewer states, and as little lost: had it found something, all states would count.
#[test]
fn a_reduced_search_finds_nothing_lost_that_is_not() {
    for locker in [getset(2), token(2)] {
        for scene in [
            with_a_future(crowd(&locker, 2, Bounds::ticks(2).crashes(1))),
            crowd(&locker, 2, Bounds::ticks(0).crashes(1)).for_all_time().unwrap(),
        ] {
            let whole = Search::new(&scene).properties(&FUTURE).symmetry(true);
            let (all, fewer) = (whole.run(&mut |_| ()), whole.reduced(true).run(&mut |_| ()));
            for found in [&all, &fewer] {
                assert_eq!((violated(found), found.end, found.unjudged.len()), (vec![], End::Exhausted, 0));
            }
            assert!(fewer.states * 3 < all.states * 2, "{} of {}", fewer.states, all.states);
        }
    }
}

#[test]
fn without_a_future_it_is_not_judged() {
    let found = search(&crowd(&token(2), 2, Bounds::ticks(1)), &FUTURE);
    assert_eq!((violated(&found), found.unjudged), (vec![], FUTURE.to_vec()));
}

#[test]
fn a_loser_leaves_a_phantom_behind() {
    let scene = crowd(&getset(2), 2, Bounds::ticks(1));
    let owner = scene.clients[0].clone();
    let found = search(&scene.after_death_of(&owner, 3), &[Property::NoPhantom, Property::LeaseHonoured]);
    assert!(violated(&found).iter().any(|(property, _)| *property == Property::LeaseHonoured), "{found:?}");
    let clean = search(&crowd(&token(2), 2, Bounds::ticks(4)), &[Property::NoPhantom]);
    assert_eq!((violated(&clean), clean.end), (vec![], End::Exhausted));
}
