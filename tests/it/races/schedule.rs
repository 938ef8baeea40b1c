//! Schedules drawn at random, and what they come to.

use std::collections::{HashSet, VecDeque};

use lockshift::explore::{Action, Doing, Properties, Property, Scene, Times, World};
use proptest::prelude::*;
use proptest::strategy::Union;

/// What one would like to happen next, one after the other; what cannot happen is left out.
pub(super) type Wishes = Vec<Action>;

/// Wishes for a scene: mostly steps of its clients, now and then a tick, seldom a mishap.
pub(super) fn wishes(scene: &Scene, most: usize) -> impl Strategy<Value = Wishes> + use<> {
    let (bounds, faults) = (scene.bounds, scene.bounds.faults);
    let clients = u8::try_from(scene.clients.len()).expect("few clients");
    let mut wish: Vec<(u32, Action)> = (0..clients).map(|who| (8, Action::Step(who))).collect();
    if bounds.ticks > 0 {
        wish.push((6, Action::Tick));
    }
    if faults.crashes > 0 {
        wish.extend((0..clients).map(|who| (1, Action::Crash(who))));
    }
    if faults.lost_replies > 0 {
        wish.extend((0..clients).map(|who| (1, Action::LoseReply(who))));
    }
    if faults.failovers > 0 {
        wish.push((1, Action::FailOver(0, 1)));
    }
    let wish = Union::new_weighted(wish.into_iter().map(|(weight, wish)| (weight, Just(wish))).collect());
    let burst = (wish, 1..=4_usize).prop_map(|(wish, times)| vec![wish; times]);
    prop::collection::vec(burst, 0..most).prop_map(|bursts| bursts.concat())
}

/// What happens of these wishes, up to the step that breaks the rule; `None` if none does.
pub(super) fn broken_by(scene: &Scene, property: Property, wishes: &[Action]) -> Option<Vec<Action>> {
    let properties = Properties::of(&[property]);
    let (mut world, mut happened) = (scene.world(), Vec::new());
    for &wish in wishes {
        let possible = scene.actions(&world);
        let is_wished = |action: &&Action| match (wish, **action) {
            // A client that has sent to several servers prefers the next of them.
            (Action::Step(who), Action::StepOn(stepper, _)) => who == stepper,
            (Action::LoseReply(who), Action::LoseReplyOn(loser, _)) => who == loser,
            (Action::LoseRequest(who), Action::LoseRequestOn(loser, _)) => who == loser,
            (wish, action) => wish == action,
        };
        let Some(&wish) = possible.iter().find(is_wished) else { continue };
        let (after, violated) = scene.apply_judged(&world, wish, properties);
        happened.push(wish);
        world = after;
        if violated.has(property) {
            return Some(happened);
        }
    }
    (property.is_about_the_future() && is_lost(scene, &world)).then_some(happened)
}

/// Whether some client waits and no waiting client can ever win.
fn is_lost(scene: &Scene, world: &World) -> bool {
    let waits = |world: &World, who: usize| {
        let actor = &world.actors[who];
        actor.tries_left == Times::Forever && matches!(actor.doing, Doing::Resting { .. } | Doing::Acquiring(_))
    };
    if !(0..scene.clients.len()).any(|who| waits(world, who)) {
        return false;
    }
    let (mut seen, mut open) = (HashSet::from([world.clone()]), VecDeque::from([world.clone()]));
    while let Some(world) = open.pop_front() {
        for action in scene.actions(&world) {
            let (Action::Step(_) | Action::StepOn(..) | Action::Tick | Action::Leap) = action else { continue };
            let after = scene.apply(&world, action);
            if action.client().is_some_and(|who| waits(&world, who) && after.actors[who].hold().is_some()) {
                return false;
            }
            if seen.insert(after.clone()) {
                open.push_back(after);
            }
        }
    }
    true
}
