//! The same result, however it is found: on one thread or two, run again, with symmetry or without.

use lockshift::explore::{Bounds, FaultBudget, Findings, Grain, Property, Scene, Search};

use super::locks::{Mistake, Mistaken, getset, token};
use super::{crowd, violated};

fn scenes() -> Vec<(&'static str, Scene)> {
    let crash = Bounds::ticks(1).crashes(1);
    let lost = Bounds::ticks(1).lost_replies(1);
    let failover = Bounds::ticks(1).failovers(1);
    let others = FaultBudget { crashes: 1, client_restarts: 1, late_requests: 1, restarts: 1, ..FaultBudget::NONE };
    let clocks = FaultBudget { clock_steps: 1, server_clock_steps: 1, evictions: 1, ..FaultBudget::NONE };
    let anew = FaultBudget { crashes: 1, client_restarts: 1, ..FaultBudget::NONE };
    let removals = FaultBudget { removals_at_deadline: 2, ..FaultBudget::NONE };
    vec![
        ("keys removed at their deadline", crowd(&token(1), 2, Bounds::ticks(3).faults(removals))),
        ("other faults", crowd(&token(1), 2, Bounds::ticks(1).faults(others)).grain(Grain::Coarse)),
        ("clocks", crowd(&getset(1), 2, Bounds::ticks(1).faults(clocks)).grain(Grain::Coarse)),
        ("getset", crowd(&getset(1), 2, crash)),
        ("getset, coarse", crowd(&getset(1), 3, Bounds::ticks(2)).grain(Grain::Coarse)),
        ("token", crowd(&token(1), 3, crash)),
        ("token, coarse, replies lost", crowd(&token(1), 3, lost).grain(Grain::Coarse)),
        ("plain DEL", crowd(&Mistaken::shared(Mistake::PlainDel, 1), 3, crash)),
        ("watched, coarse", crowd(&Mistaken::shared(Mistake::None, 1), 4, Bounds::ticks(1)).grain(Grain::Coarse)),
        ("clients start anew", crowd(&Mistaken::shared(Mistake::PlainDel, 1), 2, Bounds::ticks(2).faults(anew))),
        ("failover", crowd(&token(1), 2, failover)),
    ]
}

const WATCHED: [Property; 6] = [
    Property::MutualExclusion,
    Property::LeaseHonoured,
    Property::ReleasesOnlyOwn,
    Property::TruthfulOutcome,
    Property::NoPhantom,
    Property::NobodyShutOut,
];

fn run(scene: &Scene, threads: usize, symmetry: bool) -> Findings {
    let mut scene = scene.clone();
    scene.bounds.afterwards = Some(100);
    let threads = threads.try_into().unwrap();
    Search::new(&scene).properties(&WATCHED).threads(threads).symmetry(symmetry).run(&mut |_| ())
}

#[test]
fn on_one_thread_or_two_and_run_again() {
    for (name, scene) in scenes() {
        for symmetry in [false, true] {
            let one = run(&scene, 1, symmetry);
            for other in [run(&scene, 1, symmetry), run(&scene, 2, symmetry)] {
                assert_eq!(
                    (one.states, one.steps, one.depth, one.end),
                    (other.states, other.steps, other.depth, other.end)
                );
                assert_eq!(one.violations, other.violations, "{name}");
            }
        }
    }
}

#[test]
fn with_symmetry_or_without() {
    for (name, scene) in scenes() {
        let (all, kept) = (run(&scene, 2, false), run(&scene, 2, true));
        assert_eq!(violated(&all), violated(&kept), "{name}");
        assert_eq!((all.end, all.depth), (kept.end, kept.depth), "{name}");
        let orders = (1..=scene.clients.len()).product::<usize>();
        let faults = scene.bounds.faults;
        let removes = faults.evictions > 0 || faults.removals_at_deadline > 0;
        assert!(
            (kept.states < all.states || removes) && all.states <= kept.states * orders,
            "{name}: {} {}",
            all.states,
            kept.states
        );
    }
}

/// Each rule by itself, so that a reduction cannot find one instead of another.
#[test]
fn reduced_or_not() {
    for (name, scene) in scenes().into_iter().filter(|(_, scene)| scene.grain == Grain::Fine) {
        for rule in WATCHED {
            let search = Search::new(&scene).properties(&[rule]).symmetry(true);
            let (all, reduced) = (search.run(&mut |_| ()), search.reduced(true).run(&mut |_| ()));
            assert_eq!((violated(&all), all.end), (violated(&reduced), reduced.end), "{name}");
            let is_seen_to_hold = all.violations.is_empty();
            assert!(!is_seen_to_hold || reduced.states < all.states, "{name}: {}", reduced.states);
        }
    }
}
