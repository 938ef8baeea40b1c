//! How large the "negligible error" of a takeover's loser is: as large as the loser was held up.

use lockshift::explore::{Action, Scene, World};
use lockshift::races;
use lockshift::wire::Key;

const WINNER: u8 = 0;
const LOSER: u8 = 1;

#[test]
fn the_error_is_as_long_as_the_loser_was_held_up() {
    let moved: Vec<_> = (0..=12).map(|pause| (pause, moved_by(pause))).collect();
    let as_long: Vec<_> = (0..=12).map(|pause| (pause, -pause)).collect();
    assert_eq!(moved, as_long, "(seconds held up, seconds by which the winner's lease is moved)");
}

#[test]
fn held_up_for_longer_than_a_lease_the_loser_leaves_an_expired_lock() {
    // The lease is three seconds, and PHP calls a stamp expired when it is before now.
    assert_eq!((0..=6).map(free_at_once_after).collect::<Vec<_>>(), [false, false, false, false, true, true, true]);
}

/// By how many seconds the winner's stamp is moved by a loser that was held up for so long before its GETSET.
fn moved_by(pause: i64) -> i64 {
    let (scene, world) = late_loser(pause);
    let before = stamp(&scene, &world);
    stamp(&scene, &scene.apply(&world, Action::Step(LOSER))) - before
}

/// Whether the next to come has the lock, though its winner has had it for no time at all.
fn free_at_once_after(pause: i64) -> bool {
    let (scene, world) = late_loser(pause);
    let after = scene.apply(&world, Action::Step(LOSER));
    // The loser itself tries again: SETNX, GET, GETSET, EXPIRE.
    let again = (0..4).fold(after, |world, _| scene.apply(&world, Action::Step(LOSER)));
    again.actors[usize::from(LOSER)].hold().is_some()
}

/// A expired lock; the loser has read it and made its stamp, and `pause` seconds later the winner takes it.
fn late_loser(pause: i64) -> (Scene, World) {
    let mut scene = races::find("stale-stamp-shortens-lease").unwrap().scenario.scene();
    scene.bounds.ticks = 20;
    let steps = |who: u8, count: usize| vec![Action::Step(who); count];
    let ticks = vec![Action::Tick; usize::try_from(pause).unwrap()];
    let schedule = [steps(LOSER, 2), ticks, steps(WINNER, 4)].concat();
    let world = schedule.into_iter().fold(scene.world(), |world, action| scene.apply(&world, action));
    assert!(world.actors[usize::from(WINNER)].hold().is_some(), "the winner holds");
    (scene, world)
}

fn stamp(scene: &Scene, world: &World) -> i64 {
    let stored = world.node.server.peek(&Key::from("lock"), scene.wall(world.clock.tick)).expect("there is a lock");
    stored.value.to_string().parse().expect("a stamp of PHP is a number")
}
