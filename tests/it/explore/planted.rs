//! Classic mistakes, planted: each is caught, and the same lock without it is clean.

use lockshift::explore::{Bounds, End, Findings, Property, Scene};

use super::locks::{GetSet, Mistake, Mistaken, lease};
use super::{crowd, search, violated};

use std::sync::Arc;

use lockshift::lock::Locker;
use lockshift::wire::Key;

/// Three clients of the token lock with this mistake, what they find out about these properties.
fn with(mistake: Mistake, properties: &[Property], change: impl Fn(&mut Scene)) -> Findings {
    let mut scene = crowd(&Mistaken::shared(mistake, 2), 3, Bounds::ticks(3));
    change(&mut scene);
    search(&scene, properties)
}

fn is_caught(mistake: Mistake, property: Property, change: impl Fn(&mut Scene)) {
    let good = with(Mistake::None, &[property], &change);
    assert_eq!((violated(&good), good.end), (vec![], End::Exhausted), "the lock without {mistake:?}");
    let bad = with(mistake, &[property], &change);
    assert_eq!(violated(&bad).first().map(|(property, _)| *property), Some(property), "{mistake:?}");
}

#[test]
fn getset_whose_answer_is_ignored() {
    let careless: Arc<dyn Locker> = Arc::new(GetSet { key: Key::from("k"), lease: lease(2), judges: false });
    let died = |locker: &Arc<dyn Locker>| {
        let scene = crowd(locker, 2, Bounds::ticks(0));
        let owner = scene.clients[0].clone();
        search(&scene.after_death_of(&owner, 3), &[Property::MutualExclusion])
    };
    assert_eq!(violated(&died(&super::locks::getset(2))), []);
    // Both read the clock, are refused, read the dead owner's stamp, judge it and overwrite it.
    assert_eq!(violated(&died(&careless)), [(Property::MutualExclusion, 16)]);
}

#[test]
fn compare_and_delete_replaced_by_del() {
    is_caught(Mistake::PlainDel, Property::ReleasesOnlyOwn, |_| ());
    is_caught(Mistake::PlainDel, Property::LeaseHonoured, |_| ());
}

#[test]
fn renewal_without_a_look_at_the_owner() {
    let working = |scene: &mut Scene| {
        scene.clients.truncate(2);
        scene.clients[0].work = 4;
        scene.clients[0].renew_after = Some(1);
        scene.bounds.ticks = 4;
    };
    is_caught(Mistake::BlindRenewal, Property::TruthfulOutcome, working);
}

#[test]
fn check_then_set() {
    is_caught(Mistake::CheckThenSet, Property::MutualExclusion, |_| ());
}

#[test]
fn a_release_that_always_says_yes() {
    is_caught(Mistake::SaysYes, Property::TruthfulOutcome, |_| ());
}

#[test]
fn work_that_outlasts_the_lease() {
    let unheeding = |heeds_lease: bool| {
        move |scene: &mut Scene| scene.clients.iter_mut().for_each(|client| client.heeds_lease = heeds_lease)
    };
    let mutual = [Property::MutualExclusion];
    assert_eq!(violated(&with(Mistake::None, &mutual, unheeding(true))), []);
    let overrun = with(Mistake::None, &mutual, unheeding(false));
    let trace = &overrun.violations[0].trace;
    // The lease of the first holder ends at the second tick: that is the step to blame.
    let blamed = &trace.steps[trace.blame.unwrap()];
    assert_eq!((trace.name_of(blamed).as_ref(), blamed.at_ms), ("clock", 2000));
}

#[test]
fn renewal_in_time_and_too_late() {
    // Both do at once what they can; the holder never looks at its lease.
    let renewing = |renew_after: u16| {
        move |scene: &mut Scene| {
            scene.clients.truncate(2);
            scene.bounds.ticks = 9;
            for client in &mut scene.clients {
                (client.prompt, client.heeds_lease, client.pause) = (true, false, 1);
                (client.work, client.renew_after) = (6, Some(renew_after));
            }
        }
    };
    let mutual = [Property::MutualExclusion];
    assert_eq!(violated(&with(Mistake::None, &mutual, renewing(1))), []);
    // PX keeps a key through the millisecond of its deadline, so that a lease of two ticks is gone at the third.
    assert_eq!(violated(&with(Mistake::None, &mutual, renewing(3))).len(), 1);
}

#[test]
fn one_renewal_flag_for_two_locks() {
    let two_locks = |shared: bool| {
        move |scene: &mut Scene| {
            scene.bounds.ticks = 7;
            let other: Arc<dyn Locker> =
                Arc::new(Mistaken { key: Key::from("other"), lease: lease(2), mistake: Mistake::None });
            for client in &mut scene.clients {
                (client.prompt, client.heeds_lease, client.pause) = (true, false, 1);
                (client.work, client.renew_after) = (5, Some(1));
            }
            (scene.clients[1].locker, scene.clients[1].lock, scene.clients[1].work) = (other, 1, 1);
            if shared {
                scene.clients[1].ends_renewal_of = vec![0];
            }
        }
    };
    let mutual = [Property::MutualExclusion];
    assert_eq!(violated(&with(Mistake::None, &mutual, two_locks(false))), []);
    assert_eq!(violated(&with(Mistake::None, &mutual, two_locks(true))).len(), 1);
}
