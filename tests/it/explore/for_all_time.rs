//! A clock that never ends: the same verdicts on the same shortest schedules as with one that ends late enough.

use std::sync::Arc;
use std::time::Duration;

use lockshift::explore::{Bounds, Client, End, FaultBudget, Grain, NotForAllTime, Property, Scene, Search, Times};
use lockshift::legacy::{Lock, catalogue};
use lockshift::lock::{Lease, Locker};
use lockshift::report::explanation;
use lockshift::wire::Key;

use super::locks::{Mistake, Mistaken, getset, token};
use super::{crowd, search, violated};

fn dialect(name: &str) -> Arc<dyn Locker> {
    let lease = Lease::new(Duration::from_secs(1)).unwrap();
    Arc::new(Lock::new(catalogue::find(name).unwrap(), Key::from("k"), lease))
}

const WATCHED: [Property; 5] = [
    Property::MutualExclusion,
    Property::LeaseHonoured,
    Property::ReleasesOnlyOwn,
    Property::TruthfulOutcome,
    Property::NoPhantom,
];

#[test]
fn the_token_lock_is_safe_for_all_time() {
    let scene = crowd(&token(1), 3, Bounds::ticks(0).crashes(1)).for_all_time().unwrap();
    let all = [&WATCHED[..], &[Property::CanBeTakenAgain, Property::NobodyShutOut]].concat();
    let found = search(&scene, &all);
    assert_eq!((violated(&found), found.end, found.unjudged), (vec![], End::Exhausted, vec![]));
    assert_eq!(found.states, 71_003);
}

/// Since 8.0 Redis may remove a key in the millisecond of its deadline. A tick is as long as a lease, or half as long.
#[test]
fn the_token_lock_is_safe_for_all_time_where_keys_go_at_their_deadline() {
    for (lease, states) in [(1, 7_874), (2, 12_970)] {
        let removed = FaultBudget { crashes: 1, removals_at_deadline: 2, ..FaultBudget::NONE };
        let scene = crowd(&token(lease), 2, Bounds::ticks(0).faults(removed)).for_all_time().unwrap();
        let all = [&WATCHED[..], &[Property::CanBeTakenAgain, Property::NobodyShutOut]].concat();
        let found = search(&scene, &all);
        assert_eq!((violated(&found), found.end, found.unjudged), (vec![], End::Exhausted, vec![]));
        assert_eq!(found.states, states);
    }
}

#[test]
fn nothing_is_found_later_that_is_not_found_soon_enough() {
    let coarse = [
        getset(1),
        token(2),
        Mistaken::shared(Mistake::PlainDel, 1),
        Mistaken::shared(Mistake::NoLease, 1),
        dialect("redis-py-2.8"),
        dialect("jedis-lock"),
        dialect("java-getset"),
        dialect("servicestack-2012"),
        dialect("stackexchange-ticks"),
        dialect("php-json-first"),
    ];
    for locker in coarse {
        same_for_all_time(crowd(&locker, 2, Bounds::ticks(6).crashes(1)).grain(Grain::Coarse));
    }
}

#[test]
fn neither_is_it_in_mixed_company_with_skewed_clocks_among_three_or_step_by_step() {
    let within = |ticks| Scene::new(Bounds::ticks(ticks).crashes(1));
    let one = |locker: &Arc<dyn Locker>, skew_ms| Client { skew_ms, ..Client::new("test", Arc::clone(locker)) };
    let (php, modern) = (dialect("php-getset"), token(1));
    let coarse = |scene: Scene| scene.grain(Grain::Coarse);
    for scene in [
        coarse(within(7).client(one(&php, 0)).client(one(&modern, 0))),
        coarse(within(7).client(one(&getset(1), 1_000)).client(one(&getset(1), 0))),
        coarse(within(7).client(one(&modern, 2_000)).client(one(&php, 0))),
        coarse(crowd(&modern, 3, Bounds::ticks(5).crashes(1).lost_replies(1))),
        coarse(crowd(&getset(1), 3, Bounds::ticks(6))),
        crowd(&getset(1), 2, Bounds::ticks(6)),
        crowd(&modern, 2, Bounds::ticks(4).crashes(1)),
    ] {
        same_for_all_time(scene);
    }
}

/// The same rules are broken, each on as short a schedule and shown in the same words, whether the clock ends or not.
fn same_for_all_time(scene: Scene) {
    let bounded = search(&scene, &WATCHED);
    let unbounded = search(&scene.for_all_time().unwrap(), &WATCHED);
    assert_eq!((bounded.end, unbounded.end), (End::Exhausted, End::Exhausted));
    assert_eq!(violated(&bounded), violated(&unbounded));
    let traces = bounded.violations.iter().zip(&unbounded.violations);
    traces.for_each(|(bounded, unbounded)| assert_eq!(explanation(&bounded.trace), explanation(&unbounded.trace)));
}

#[test]
fn with_symmetry_or_without_on_one_thread_or_two() {
    let scene = crowd(&getset(1), 2, Bounds::ticks(0).crashes(1)).for_all_time().unwrap();
    let run = |threads: usize, symmetry| {
        let search = Search::new(&scene).properties(&WATCHED).symmetry(symmetry);
        search.threads(threads.try_into().unwrap()).run(&mut |_| ())
    };
    let (one, two, all) = (run(1, true), run(2, true), run(2, false));
    assert_eq!((one.states, &one.violations), (two.states, &two.violations));
    assert_eq!(violated(&one), violated(&all));
    assert!(one.states < all.states && all.states <= 2 * one.states, "{} of {}", one.states, all.states);
}

#[test]
fn what_does_not_move_with_the_clock_is_refused() {
    let refused = |name| crowd(&dialect(name), 2, Bounds::ticks(0)).for_all_time().map(|_| ());
    assert_eq!(refused("newlife"), Err(NotForAllTime::Unmovable(0)));
    assert_eq!(refused("php-getset-absolute-expire"), Err(NotForAllTime::Unmovable(0)));
    assert_eq!(refused("resque-concurrent-restriction"), Err(NotForAllTime::TooFarAhead(0)));
}

/// A tolerance is in nothing that a client writes: it is found by how long a client waits for the lock of a dead one.
#[test]
fn a_tolerance_that_no_stamp_shows_is_waited_for() {
    let mut tolerant = *catalogue::find("jedis-lock").unwrap();
    tolerant.look.as_mut().unwrap().slack = Duration::from_secs(9);
    let lease = Lease::new(Duration::from_secs(1)).unwrap();
    let locker: Arc<dyn Locker> = Arc::new(Lock::new(Box::leak(Box::new(tolerant)), Key::from("k"), lease));
    let scene = crowd(&locker, 2, Bounds::ticks(0).crashes(1)).grain(Grain::Coarse).for_all_time().unwrap();
    let found = search(&scene, &[Property::CanBeTakenAgain]);
    assert_eq!((violated(&found), found.end), (vec![], End::Exhausted));
}

/// At any other second two clients of a dialect do the same to each other, and to a lock whose owner has died.
#[test]
fn what_clients_do_to_each_other_moves_with_the_clock() {
    let mut explored = 0;
    for dialect in catalogue::catalogue() {
        let client = Client { tries: Times::Of(2), ..Client::new(dialect.name, self::dialect(dialect.name)) };
        let after = |seconds: u64| {
            let mut scene = Scene::new(Bounds::ticks(3)).grain(Grain::Coarse);
            scene.begin = scene.begin.saturating_add(Duration::from_secs(seconds));
            scene.after_death_of(&client, 1).client(client.clone()).client(client.clone())
        };
        if after(0).for_all_time().is_err() {
            continue;
        }
        let found = |seconds| {
            let found = search(&after(seconds), &WATCHED);
            (violated(&found), found.states, found.steps)
        };
        let now = found(0);
        for seconds in [1, 9, 86_400] {
            assert_eq!(found(seconds), now, "{}, {seconds} s later", dialect.name);
        }
        explored += 1;
    }
    assert!(explored > 80, "{explored} dialects");
}

#[test]
fn a_lock_without_a_lease_is_lost_for_all_time() {
    let scene = crowd(&Mistaken::shared(Mistake::NoLease, 1), 2, Bounds::ticks(0).crashes(1));
    let found = search(&scene.for_all_time().unwrap(), &[Property::CanBeTakenAgain]);
    assert_eq!(violated(&found), [(Property::CanBeTakenAgain, 3)]);
}
