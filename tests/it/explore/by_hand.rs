//! Worlds small enough to be counted with a pencil.

use lockshift::explore::{Bounds, End, Grain, Scene, Search, Times};

use super::crowd;
use super::locks::getset;

/// How many worlds there are, without and with symmetry.
fn count(scene: &Scene) -> (usize, usize) {
    let count = |symmetry| {
        let found = Search::new(scene).symmetry(symmetry).run(&mut |_| ());
        assert_eq!(found.end, End::Exhausted);
        found.states
    };
    (count(false), count(true))
}

/// One client goes start, holding, done; finely start, clock read, SETNX answered, holding, DEL answered, done.
#[test]
fn one_client_alone() {
    let alone = crowd(&getset(2), 1, Bounds::ticks(0));
    assert_eq!(count(&alone.clone().grain(Grain::Coarse)), (3, 3));
    assert_eq!(count(&alone), (6, 6));
}

/// With one tick, every world between start and end knows when the clock was read, which was now or before: 3 ways.
/// Coarsely 2 + 3 + 2; finely 2 + 4 * 3 + 2.
#[test]
fn one_client_and_a_tick() {
    let alone = crowd(&getset(2), 1, Bounds::ticks(1));
    assert_eq!(count(&alone.clone().grain(Grain::Coarse)), (7, 7));
    assert_eq!(count(&alone), (16, 16));
}

/// A dead client leaves an empty server (2 worlds, one for each tick) or its stamp (3).
#[test]
fn one_client_that_may_die() {
    let alone = crowd(&getset(2), 1, Bounds::ticks(1).crashes(1));
    assert_eq!(count(&alone.clone().grain(Grain::Coarse)), (7 + 5, 7 + 5));
    assert_eq!(count(&alone), (16 + 5, 16 + 5));
}

/// Two clients with one try each, no time. With S for start, H for holding, D for done, W for refused by SETNX and G for
/// to whom GET replies that there is no key: SS, HS, HW, HD, DS, DW, DG, DD, and six of them the other way round.
#[test]
fn two_clients_out_of_time() {
    let mut two = crowd(&getset(2), 2, Bounds::ticks(0)).grain(Grain::Coarse);
    two.clients.iter_mut().for_each(|client| client.tries = Times::Of(1));
    assert_eq!(count(&two), (14, 8));
}
