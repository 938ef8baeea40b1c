//! Locks known to be good or bad, and how bad.

use std::time::Duration;

use lockshift::explore::{Bounds, End, Grain, Property, Search};
use lockshift::lock::Lease;
use lockshift::protocols::Choice;
use lockshift::report::explanation;

use super::locks::{getset, token};
use super::{crowd, search, violated};

#[test]
fn three_clients_break_the_getset_lock_in_eighteen_steps() {
    let found = search(&crowd(&getset(2), 3, Bounds::ticks(3)), &[Property::MutualExclusion]);
    assert_eq!(violated(&found), [(Property::MutualExclusion, 18)]);

    let trace = &found.violations[0].trace;
    let commands: Vec<_> = trace.steps.iter().filter_map(|step| step.exchange.as_ref()).collect();
    let names: Vec<_> = commands.iter().map(|exchange| exchange.command.name()).collect();
    assert_eq!(names, [&b"SETNX"[..], b"SETNX", b"GET", b"GETSET", b"DEL", b"SETNX"]);
    let blamed = &trace.steps[trace.blame.unwrap()];
    assert_eq!(
        (trace.name_of(blamed).as_ref(), blamed.exchange.as_ref().unwrap().command.to_string()),
        ("A", "DEL k".to_owned())
    );
    assert_eq!(
        explanation(trace),
        "B holds [2 s, 4 s) because its GETSET k 1700000004 was answered \"1700000002\". \
         C holds [3 s, 5 s) because its SETNX k 1700000005 was answered 1. \
         A's DEL k, decided at 0 s, ran at 3 s and was answered 1."
    );
}

#[test]
fn two_clients_cannot_break_the_getset_lock_in_one_round() {
    let found = search(&crowd(&getset(2), 2, Bounds::ticks(4).crashes(1)), &[Property::MutualExclusion]);
    assert_eq!((violated(&found), found.end), (vec![], End::Exhausted));
}

#[test]
fn three_clients_cannot_break_the_token_lock() {
    let scene = crowd(&token(2), 3, Bounds::ticks(4).crashes(1));
    let all = &Property::ALL[..7];
    let found = search(&scene, all);
    assert_eq!((violated(&found), found.end, found.states), (vec![], End::Exhausted, 24_677));

    let coarse = search(&scene.grain(Grain::Coarse), all);
    assert_eq!((violated(&coarse), coarse.end, coarse.states), (vec![], End::Exhausted, 247));
}

#[test]
fn the_plain_lock_of_redis_py_2_10_deletes_the_next_holders_lock_and_its_lua_lock_does_not() {
    let release = |name: &str| {
        let choice: Choice = name.parse().unwrap();
        let locker = choice.locker("k".into(), Lease::new(Duration::from_secs(2)).unwrap());
        let found = search(&crowd(&locker, 2, Bounds::ticks(4)), &[Property::ReleasesOnlyOwn]);
        (violated(&found), found.end)
    };
    let (broken, _) = release("redis-py-2.10");
    assert!(broken.iter().any(|(property, _)| *property == Property::ReleasesOnlyOwn), "{broken:?}");
    assert_eq!(release("redis-py-2.10-lua"), (vec![], End::Exhausted));
}

#[test]
fn a_lost_reply_does_not_break_the_token_lock() {
    let scene = crowd(&token(2), 3, Bounds::ticks(3).lost_replies(1));
    let found = search(&scene, &[Property::MutualExclusion, Property::ReleasesOnlyOwn, Property::TruthfulOutcome]);
    assert_eq!((violated(&found), found.end), (vec![], End::Exhausted));
}

#[test]
fn a_failover_breaks_the_token_lock() {
    let scene = crowd(&token(2), 2, Bounds::ticks(2).failovers(1));
    let found = search(&scene, &[Property::MutualExclusion]);
    // A reads its clock, sets, gets the reply; the replica takes over without the key; B does the same.
    assert_eq!(violated(&found), [(Property::MutualExclusion, 7)]);
    let trace = &found.violations[0].trace;
    assert_eq!(trace.name_of(&trace.steps[trace.blame.unwrap()]), "server");
}

#[test]
fn a_clock_that_runs_ahead_steals_a_getset_lock_and_no_token_lock() {
    let ahead = |locker| {
        let mut scene = crowd(&locker, 2, Bounds::ticks(0));
        scene.clients[1].skew_ms = 3_000;
        search(&scene, &[Property::MutualExclusion])
    };
    let stolen = ahead(getset(2));
    assert_eq!(violated(&stolen), [(Property::MutualExclusion, 11)]);
    let trace = &stolen.violations[0].trace;
    let blamed = &trace.steps[trace.blame.unwrap()];
    assert_eq!(
        (trace.name_of(blamed).as_ref(), blamed.exchange.as_ref().unwrap().command.name()),
        ("B", &b"GETSET"[..])
    );
    assert_eq!(blamed.clocks_ms[1] - blamed.clocks_ms[0], 3000);
    assert_eq!(violated(&ahead(token(2))), []);
}

#[test]
fn a_bound_that_is_hit_is_named() {
    let scene = crowd(&getset(2), 3, Bounds::ticks(4));
    let few = Search::new(&scene).max_states(1000).run(&mut |_| ());
    assert!(matches!(few.end, End::StatesBound(worlds) if worlds >= 1000), "{:?}", few.end);
    let small = Search::new(&scene).max_bytes(1 << 20).run(&mut |_| ());
    assert!(matches!(small.end, End::MemoryBound(bytes) if bytes >= 1 << 20), "{:?}", small.end);
}
