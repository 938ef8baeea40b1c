//! Schedules drawn at random meet every race too, and shrink to almost the shortest; the remedies stand.

use std::sync::Arc;

use lockshift::explore::{Action, Bounds, Client, Grain, Property, Scene};
use lockshift::lock::Locker;
use lockshift::races::{self, RaceProtocol, Speaks};
use lockshift::wire::Key;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use super::found::ONE_THREAD;
use super::schedule::{broken_by, wishes};
use crate::explore::locks::{GetSet, Mistake, Mistaken, lease};

/// Schedules drawn for each draw's seed, at most, until one breaks the rule.
const MANY: u32 = 20_000;
/// Schedules drawn that none may break.
const ENOUGH: u32 = 200;

#[test]
fn every_race_is_met_and_shrinks_to_almost_the_shortest_schedule() {
    for race in races::catalogue() {
        let scene = race.scenario.scene();
        let shortest = race.reproduce(ONE_THREAD, &mut |_| ()).expect("it is found").actions.len();
        // Shrinking ends where no wish can be spared. That is not always the shortest: then the next draw may be.
        let lengths = (0..8).map(|seed| meet(&scene, race.violates, MANY, seed).map(|met| met.len()));
        let lengths: Vec<_> = take_until(lengths, |met| met.is_some_and(|length| 2 * length <= 3 * shortest)).collect();
        let best = lengths.last().copied().flatten().unwrap_or(usize::MAX);
        assert!(2 * best <= 3 * shortest, "{}: {shortest} steps are enough; met were {lengths:?}", race.id);
    }
}

#[test]
fn no_schedule_breaks_the_token_lock() {
    let mut held = 0;
    for race in races::catalogue() {
        for remedy in race.remedies.iter().filter(|remedy| remedy.speaks == Speaks::All(RaceProtocol::TOKEN)) {
            assert_eq!(meet(&race.scene_with(remedy), race.violates, ENOUGH, 0), None, "{}", race.id);
            held += 1;
        }
    }
    assert_eq!(held, 30, "races that the token lock prevents");
}

#[test]
fn getset_whose_answer_is_ignored_is_met() {
    let rule = Property::MutualExclusion;
    let scene = |judges: bool| {
        let locker: Arc<dyn Locker> = Arc::new(GetSet { key: Key::from("k"), lease: lease(2), judges });
        let scene = crowd(&locker, 2, Bounds::ticks(0));
        let owner = scene.clients[0].clone();
        scene.after_death_of(&owner, 9)
    };
    assert_eq!(meet(&scene(true), rule, ENOUGH, 0), None, "the lock as it should be");
    // Each is refused by SETNX, reads the dead owner's stamp and overwrites it.
    assert_eq!(meet(&scene(false), rule, MANY, 0).map(|met| met.len()), Some(6));
}

#[test]
fn compare_and_delete_replaced_by_del_is_met() {
    let rule = Property::ReleasesOnlyOwn;
    let scene = |mistake| crowd(&Mistaken::shared(mistake, 1), 3, Bounds::ticks(3));
    assert_eq!(meet(&scene(Mistake::None), rule, ENOUGH, 0), None, "the lock as it should be");
    // A sets; its lease has expired, and a tick later its key is gone; B sets; A deletes.
    assert_eq!(meet(&scene(Mistake::PlainDel), rule, MANY, 0).map(|met| met.len()), Some(5));
}

#[test]
fn renewal_without_a_look_at_the_owner_is_met() {
    let rule = Property::MutualExclusion;
    let scene = |mistake| {
        let mut scene = crowd(&Mistaken::shared(mistake, 1), 2, Bounds::ticks(3));
        (scene.clients[0].work, scene.clients[0].renew_after) = (9, Some(1));
        scene
    };
    assert_eq!(meet(&scene(Mistake::None), rule, ENOUGH, 0), None, "the lock as it should be");
    // A sets; two ticks later its key is gone; B sets; A extends B's lease and believes it has its own.
    assert_eq!(meet(&scene(Mistake::BlindRenewal), rule, MANY, 0).map(|met| met.len()), Some(5));
}

/// The items up to the first that is good enough, that one included.
fn take_until<T: Copy>(items: impl Iterator<Item = T>, is_enough: impl Fn(T) -> bool) -> impl Iterator<Item = T> {
    items.scan(false, move |done, item| (!std::mem::replace(done, is_enough(item))).then_some(item))
}

/// So many clients of one protocol, a round trip in one step.
fn crowd(locker: &Arc<dyn Locker>, clients: usize, bounds: Bounds) -> Scene {
    let client = Client::new("test", locker.clone());
    (0..clients).fold(Scene::new(bounds).grain(Grain::Coarse), |scene, _| scene.client(client.clone()))
}

/// A schedule that breaks the rule, shrunk; `None` if none of so many does.
fn meet(scene: &Scene, rule: Property, schedules: u32, seed: u8) -> Option<Vec<Action>> {
    let config = Config { cases: schedules, failure_persistence: None, max_shrink_iters: 10_000, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let outcome = TestRunner::new_with_rng(config, rng).run(&wishes(scene, 25), |wishes| {
        broken_by(scene, rule, &wishes).map_or(Ok(()), |_| Err(TestCaseError::fail("broken")))
    });
    match outcome {
        Ok(()) => None,
        Err(TestError::Fail(_, wishes)) => broken_by(scene, rule, &wishes),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}
