//! Redlock on three servers: every order in which the commands of everybody's rounds may arrive.

use std::collections::BTreeSet;
use std::num::NonZeroU8;
use std::sync::Arc;

use lockshift::explore::{
    Action, Bounds, Client, End, Event, FaultBudget, Grain, Properties, Property, Scene, Times, Trace, World,
};
use lockshift::lock::Locker;
use lockshift::modern::Redlock;
use lockshift::wire::Key;

use super::locks::lease;
use super::{search, violated};

const NONE: FaultBudget = FaultBudget::NONE;
const THREE: NonZeroU8 = NonZeroU8::new(3).unwrap();

/// What must hold whatever happens to clients and replies.
const SAFE: [Property; 3] = [Property::MutualExclusion, Property::ReleasesOnlyOwn, Property::TruthfulOutcome];

/// Clients that try once, for a lease of a tick, on three servers.
fn scene(clients: usize, bounds: Bounds) -> Scene {
    let locker: Arc<dyn Locker> = Arc::new(Redlock::new(Key::from("k"), lease(1), THREE));
    let scene = Scene::new(bounds).grain(Grain::Coarse).servers(THREE.get());
    let client = Client { tries: Times::Of(1), ..Client::new("redlock", locker) };
    (0..clients).fold(scene, |scene, _| scene.client(client.clone()))
}

#[test]
fn any_server_may_be_the_next_to_hear_of_a_round() {
    let scene = scene(1, Bounds::ticks(0).lost_replies(1));
    let begun = scene.apply(&scene.world(), Action::Step(0));
    let on = |nodes: &[u8]| -> Vec<Action> {
        nodes.iter().flat_map(|node| [Action::StepOn(0, *node), Action::LoseReplyOn(0, *node)]).collect()
    };
    assert_eq!(scene.actions(&begun), on(&[0, 1, 2]));
    let middle_first = scene.apply(&begun, Action::StepOn(0, 1));
    assert_eq!(scene.actions(&middle_first), on(&[0, 2]));

    let ends = [[0, 2], [2, 0]].map(|order| {
        order.iter().fold(middle_first.clone(), |world, node| scene.apply(&world, Action::StepOn(0, *node)))
    });
    assert_eq!(ends[0], ends[1], "the order is forgotten");
    assert!(ends[0].actors[0].hold().is_some());
}

#[test]
fn three_clients_and_a_crash_exclude_each_other() {
    let findings = search(&scene(3, Bounds::ticks(1).crashes(1)), &[Property::MutualExclusion]);
    assert_eq!((findings.end, violated(&findings)), (End::Exhausted, vec![]));
    assert_eq!(findings.states, 470_525);
}

#[test]
fn two_clients_tell_the_truth_when_replies_are_lost() {
    let findings = search(&scene(2, Bounds::ticks(1).lost_replies(1)), &SAFE);
    assert_eq!((findings.end, violated(&findings)), (End::Exhausted, vec![]));
}

#[test]
fn an_extension_excludes_others_for_another_lease() {
    let mut scene = scene(2, Bounds::ticks(3));
    scene.clients[0].locker = Arc::new(Redlock::new(Key::from("k"), lease(2), THREE));
    (scene.clients[0].work, scene.clients[0].renew_after) = (3, Some(1));
    let findings = search(&scene, &SAFE);
    assert_eq!((findings.end, violated(&findings)), (End::Exhausted, vec![]));
}

/// The holder's extension finds a server without its token where the other client was first, or where a command was lost,
/// and asks for that vote again: in no schedule does that let two in, remove another client's lock, or make an outcome
/// untrue. Bounds: two clients, three servers; an extension per tick for one tick, and any number of them within a tick
/// with one lost reply.
#[test]
fn restoring_a_vote_breaks_nothing() {
    let table = [(Bounds::ticks(1), 2, 2, 1), (Bounds::ticks(0).lost_replies(1), 1, 1, 0)];
    for (bounds, ticks, work, renew_after) in table {
        let mut scene = scene(2, bounds);
        scene.clients[0].locker = Arc::new(Redlock::new(Key::from("k"), lease(ticks), THREE));
        (scene.clients[0].work, scene.clients[0].renew_after) = (work, Some(renew_after));
        let findings = search(&scene, &SAFE);

        assert_eq!((findings.end, violated(&findings)), (End::Exhausted, vec![]), "{bounds:?}");
    }
}

/// Which servers fail over in this schedule.
fn failed_over(actions: &[Action]) -> Vec<u8> {
    let server = |action: &Action| match action {
        Action::FailOver(server, _) => Some(*server),
        _ => None,
    };
    actions.iter().filter_map(server).collect()
}

/// The same schedule on servers that have changed places.
fn on_other_servers(actions: &[Action], place: impl Fn(u8) -> u8) -> Vec<Action> {
    let moved = |action: &Action| match *action {
        Action::StepOn(who, server) => Action::StepOn(who, place(server)),
        Action::FailOver(server, writes_lost) => Action::FailOver(place(server), writes_lost),
        other => other,
    };
    actions.iter().map(moved).collect()
}

/// One of three forgets, and another majority is there.
#[test]
fn a_failover_of_one_server_breaks_it() {
    let findings = search(&scene(2, Bounds::ticks(0).failovers(1)), &[Property::MutualExclusion]);
    assert!(matches!(violated(&findings)[..], [(Property::MutualExclusion, _)]), "{findings:?}");
    assert_eq!(failed_over(&findings.violations[0].actions).len(), 1, "{findings:?}");
}

#[test]
fn every_server_that_was_written_to_can_fail_over() {
    let scene = scene(1, Bounds::ticks(0).failovers(2));
    let failovers = |world: &World| failed_over(&scene.actions(world));
    let begun = scene.apply(&scene.world(), Action::Step(0));
    assert_eq!(failovers(&begun), Vec::<u8>::new());
    let written = [1, 2].iter().fold(begun, |world, server| scene.apply(&world, Action::StepOn(0, *server)));
    assert_eq!(failovers(&written), [1, 2]);
    let failed = scene.apply(&written, Action::FailOver(2, 1));
    assert_eq!(failovers(&failed), [1], "its replica has lost the only write");
    let key = Key::from("k");
    let held = |server: &lockshift::sim::Server| server.peek(&key, scene.begin).is_some();
    assert_eq!(failed.node.others.iter().map(held).collect::<Vec<_>>(), [true, false]);
    let last = scene.apply(&failed, Action::FailOver(1, 1));
    assert_eq!(last.node.lagging, [vec![], vec![], vec![]], "no failover is to come");
}

/// The servers are alike: a schedule breaks the same rule, whichever of them fails over.
#[test]
fn a_schedule_breaks_the_same_rule_on_servers_that_have_changed_places() {
    let scene = scene(2, Bounds::ticks(0).failovers(1));
    let found = search(&scene, &[Property::MutualExclusion]).violations.remove(0);
    let rule = Properties::of(&[found.property]);
    let failed: Vec<u8> = (0..3)
        .flat_map(|by| {
            let actions = on_other_servers(&found.actions, |server| (server + by) % 3);
            let (last, before) = actions.split_last().unwrap();
            let world = before.iter().fold(scene.world(), |world, action| scene.apply(&world, *action));
            assert!(scene.apply_judged(&world, *last, rule).1.has(found.property), "{actions:?}");
            failed_over(&actions)
        })
        .collect();
    assert_eq!(failed.iter().collect::<BTreeSet<_>>().len(), 3, "{failed:?}");
}

#[test]
fn a_trace_names_the_server_that_fails_over() {
    let scene = scene(1, Bounds::ticks(0).failovers(1));
    let actions = [Action::Step(0), Action::StepOn(0, 2), Action::FailOver(2, 1)];
    let trace = scene.narrate(Property::MutualExclusion, &actions);
    let step = trace.steps.last().unwrap();
    assert_eq!((&*trace.name_of(step), &step.event), ("server @2", &Event::FailedOver { writes_lost: 1 }));
    let json = serde_json::to_string(&trace).unwrap();
    assert!(json.contains(r#""fail-over":[2,1]"#), "{json}");
    assert_eq!(serde_json::from_str::<Trace>(&json).unwrap(), trace);
}

/// A second client needs a majority of servers that have forgotten the first one's token.
#[test]
fn of_five_servers_three_must_fail_over_once_a_client_has_all_votes() {
    let broken = |failovers: u8| {
        let five = NonZeroU8::new(5).unwrap();
        let locker: Arc<dyn Locker> = Arc::new(Redlock::new(Key::from("k"), lease(1), five));
        let client = Client { tries: Times::Of(1), ..Client::new("redlock", locker) };
        let bounds = Bounds::ticks(0).failovers(failovers);
        let scene = Scene::new(bounds).grain(Grain::Coarse).servers(five.get()).client(client.clone()).client(client);
        let world = scene.world();
        let votes = std::iter::once(Action::Step(0)).chain((0..5).map(|server| Action::StepOn(0, server)));
        let held = votes.fold(world, |world, action| scene.apply(&world, action));
        let then = (0..failovers).map(|server| Action::FailOver(4 - server, 1)).chain([Action::Step(1)]);
        let then = then.chain((0..5).map(|server| Action::StepOn(1, server)));
        let end = then.fold(held, |world, action| scene.apply(&world, action));
        scene.violated(&end, Properties::of(&[Property::MutualExclusion])).has(Property::MutualExclusion)
    };
    assert_eq!([1, 2, 3].map(broken), [false, false, true]);
}

/// A vote that ends early lets a second client in; and a client that has it counts it when its last vote arrives.
const LOST_A_VOTE: [Property; 2] = [Property::MutualExclusion, Property::TruthfulOutcome];

/// With this many faults of any of three servers, two clients in one tick: which rules break.
fn broken_by(faults: FaultBudget) -> Vec<Property> {
    let findings = search(&scene(2, Bounds::ticks(1).faults(faults)), &SAFE);
    assert_eq!(findings.end, End::Exhausted, "{faults:?}");
    findings.violations.into_iter().map(|violation| violation.property).collect()
}

#[test]
fn each_server_has_faults_of_its_own() {
    let scene = scene(1, Bounds::ticks(0).faults(FaultBudget { data_losses: 1, server_clock_steps: 1, ..NONE }));
    let own = |action: &Action| action.server().is_some();
    let faults: Vec<Action> = scene.actions(&scene.world()).into_iter().filter(own).collect();
    let of = |place| [Action::LoseData(place), Action::SetServerClock(place, 1), Action::SetServerClock(place, -1)];
    assert_eq!(faults, [of(0), of(1), of(2)].concat());
    let world = scene.apply(&scene.world(), Action::SetServerClock(2, 1));
    assert_eq!(world.node.clocks_ahead, [0, 0, 1]);
}

/// The clock of a single master ends its vote early; the majority that the other client then finds is one of the same servers.
#[test]
fn one_servers_clock_lets_a_second_client_in() {
    assert_eq!(broken_by(NONE), []);
    assert_eq!(broken_by(FaultBudget { server_clock_steps: 2, ..NONE }), LOST_A_VOTE);
}

#[test]
fn requests_to_one_server_that_are_lost_or_late_break_nothing() {
    assert_eq!(broken_by(FaultBudget { lost_requests: 1, ..NONE }), []);
    assert_eq!(broken_by(FaultBudget { late_requests: 1, ..NONE }), []);
}

/// The same of clients that try again: a late deletion names the votes of an earlier attempt.
#[test]
fn a_request_of_an_earlier_attempt_takes_no_vote_of_a_later_one() {
    for faults in [FaultBudget { late_requests: 1, ..NONE }, FaultBudget { lost_requests: 1, ..NONE }] {
        let mut scene = scene(2, Bounds::ticks(1).faults(faults));
        scene.clients.iter_mut().for_each(|client| client.tries = Times::Forever);
        let findings = search(&scene, &SAFE);
        assert_eq!((findings.end, violated(&findings)), (End::Exhausted, vec![]), "{faults:?}");
    }
}

/// Servers may remove their votes in the millisecond of their deadline. Where a late request gives one more vote in the middle of a
/// release, that release counts the votes before and after it: at the end of the lease it can say that the lock was lost
/// while two of three servers had it. Exclusion holds.
#[test]
fn votes_that_go_in_the_millisecond_of_their_deadline_let_nobody_in() {
    let removed = FaultBudget { removals_at_deadline: 3, ..NONE };
    for faults in [removed, FaultBudget { crashes: 1, ..removed }, FaultBudget { lost_replies: 1, ..removed }] {
        assert_eq!(broken_by(faults), [], "{faults:?}");
    }
    let late = FaultBudget { late_requests: 1, removals_at_deadline: 1, ..NONE };
    assert_eq!(broken_by(late), [Property::TruthfulOutcome]);
}

/// A server that has forgotten a vote gives it again, whichever server it is.
#[test]
fn one_server_of_three_that_fails_over_lets_a_second_client_in() {
    assert_eq!(broken_by(FaultBudget { failovers: 1, ..NONE }), LOST_A_VOTE);
}

#[test]
fn two_servers_of_three_restart_without_harm_and_one_that_loses_its_data_lets_a_second_client_in() {
    assert_eq!(broken_by(FaultBudget { restarts: 2, ..NONE }), []);
    assert_eq!(broken_by(FaultBudget { data_losses: 1, ..NONE }), LOST_A_VOTE);
}
