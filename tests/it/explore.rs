//! The explorer: its counts against a pencil and against another checker, its verdicts against locks known to be good
//! and bad, and its results against themselves: with and without symmetry, on one thread and on two, replayed.

mod by_cause;
mod by_hand;
mod faults;
mod follow;
mod for_all_time;
mod forgetting;
mod granularity;
mod handing_over;
mod hashed;
mod known;
pub(crate) mod locks;
mod lost;
mod modern;
mod planted;
mod redlock;
mod sameness;
mod second_opinion;
mod spin;
mod starvation;
mod traces;
mod unknown_commands;
mod waiting;

use std::sync::Arc;

use lockshift::explore::{Bounds, Client, End, Findings, Grain, Property, Scene, Search};
use lockshift::lock::Locker;

/// So many clients of one protocol that only their names tell apart.
fn crowd(locker: &Arc<dyn Locker>, clients: usize, bounds: Bounds) -> Scene {
    let client = Client::new("test", locker.clone());
    (0..clients).fold(Scene::new(bounds), |scene, _| scene.client(client.clone()))
}

/// All that a search for these finds. Where it has seen everything in single steps, a reduced search sees less, and finds the same.
fn search(scene: &Scene, properties: &[Property]) -> Findings {
    let search = Search::new(scene).properties(properties).symmetry(true);
    let found = search.run(&mut |_| ());
    if scene.grain == Grain::Fine && found.end == End::Exhausted && found.states < 20_000 {
        let reduced = search.reduced(true).run(&mut |_| ());
        assert_eq!((violated(&reduced), &reduced.unjudged), (violated(&found), &found.unjudged));
        assert_eq!(reduced.end, End::Exhausted);
        // Where a rule is broken, the states in which the shortest schedule was found count as well; and rules about holds have
        // a search of their own.
        for property in properties.iter().filter(|_| found.violations.is_empty()) {
            let reduced = search.properties(&[*property]).reduced(true).run(&mut |_| ());
            assert!(reduced.states <= found.states, "{property}: {} states", reduced.states);
        }
    }
    found
}

/// The properties found violated, each with the length of its shortest schedule.
fn violated(findings: &Findings) -> Vec<(Property, usize)> {
    findings.violations.iter().map(|violation| (violation.property, violation.actions.len())).collect()
}
