//! The same worlds put through `stateright`, which knows nothing of parts, memories and symmetry.

use lockshift::explore::{Action, Bounds, End, FaultBudget, Grain, Properties, Property, Scene, Search, World};
use stateright::{Checker, Model};

use super::locks::{Mistake, Mistaken, getset, token};
use super::{crowd, violated};

/// A scene, as stateright wants it.
struct Checked {
    scene: Scene,
    /// Whether it goes on after the first violation. It then promises no shortest schedule.
    to_the_end: bool,
}

impl Model for Checked {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![self.scene.world()]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        actions.extend(self.scene.actions(world));
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        Some(self.scene.apply(world, action))
    }

    fn properties(&self) -> Vec<stateright::Property<Self>> {
        let mutual_exclusion = stateright::Property::always("mutual exclusion", |shown: &Self, world| {
            shown.scene.violated(world, Properties::of(&[Property::MutualExclusion])).is_empty()
        });
        // Looked for until there is nowhere left to look.
        let never_found = stateright::Property::sometimes("never found", |_, _| false);
        if self.to_the_end { vec![mutual_exclusion, never_found] } else { vec![mutual_exclusion] }
    }
}

fn of_the_network() -> FaultBudget {
    FaultBudget { crashes: 1, late_requests: 1, client_restarts: 1, ..FaultBudget::NONE }
}

fn of_the_server() -> FaultBudget {
    FaultBudget {
        server_clock_steps: 1,
        clock_steps: 1,
        restarts: 1,
        data_losses: 1,
        evictions: 1,
        ..FaultBudget::NONE
    }
}

fn at_deadlines() -> FaultBudget {
    FaultBudget { removals_at_deadline: 2, ..FaultBudget::NONE }
}

#[test]
fn another_checker_counts_the_same_worlds_and_says_the_same() {
    let crash = |ticks| Bounds::ticks(ticks).crashes(1);
    let scenes = [
        crowd(&getset(1), 3, crash(2)).grain(Grain::Coarse),
        crowd(&getset(1), 2, crash(3)),
        crowd(&token(1), 2, crash(3)),
        crowd(&token(1), 3, Bounds::ticks(1).failovers(1)).grain(Grain::Coarse),
        crowd(&token(2), 2, Bounds::ticks(2).lost_replies(2)),
        crowd(&getset(1), 2, Bounds::ticks(2).lost_requests(1)),
        crowd(&token(1), 3, Bounds::ticks(1).lost_requests(1).lost_replies(1)).grain(Grain::Coarse),
        crowd(&token(1), 2, Bounds::ticks(1).faults(of_the_network())).grain(Grain::Coarse),
        crowd(&token(1), 2, Bounds::ticks(1).faults(of_the_server())).grain(Grain::Coarse),
        crowd(&getset(1), 2, Bounds::ticks(3).faults(at_deadlines())).grain(Grain::Coarse),
        crowd(&Mistaken::shared(Mistake::CheckThenSet, 1), 2, crash(2)),
    ];
    for scene in scenes {
        let found = Search::new(&scene).run(&mut |_| ());
        let all = Checked { scene: scene.clone(), to_the_end: true }.checker().spawn_bfs().join();
        assert_eq!((found.end, found.states), (End::Exhausted, all.unique_state_count()));
        let first = Checked { scene, to_the_end: false }.checker().spawn_bfs().join();
        let counterexample = first.discovery("mutual exclusion").map(|path| path.into_actions().len());
        assert_eq!(violated(&found).first().map(|(_, length)| *length), counterexample);
    }
}
