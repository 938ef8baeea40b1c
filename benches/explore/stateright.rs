//! A scene, as `stateright` wants it: whole states, nothing remembered but their hashes.

use lockshift::explore::{Action, Properties, Property, Scene, World};
use stateright::{Checker, Model};

struct Checked(Scene);

impl Model for Checked {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![self.0.world()]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        actions.extend(self.0.actions(world));
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        Some(self.0.apply(world, action))
    }

    fn properties(&self) -> Vec<stateright::Property<Self>> {
        vec![
            stateright::Property::always("mutual exclusion", |model: &Self, world| {
                model.0.violated(world, Properties::of(&[Property::MutualExclusion])).is_empty()
            }),
            // Looked for until there is nowhere left to look.
            stateright::Property::sometimes("never found", |_, _| false),
        ]
    }
}

/// How many states there are, and whether mutual exclusion is violated in one.
pub(crate) fn count(scene: Scene, threads: usize) -> (usize, bool) {
    let checker = Checked(scene).checker().threads(threads).spawn_bfs().join();
    (checker.unique_state_count(), checker.discovery("mutual exclusion").is_some())
}
