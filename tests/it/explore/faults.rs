//! Each fault of the server, the network and the clocks: what it breaks, what withstands it, and that without it nothing breaks.

use std::sync::Arc;

use lockshift::explore::{Action, Bounds, Client, End, FaultBudget, Grain, Property, Scene, Times, World};
use lockshift::legacy::{Lock, catalogue};
use lockshift::lock::Locker;
use lockshift::protocols::{self, Choice};
use lockshift::wire::Key;

use super::locks::{Mistake, Mistaken, getset, lease, token};
use super::{crowd, search, violated};

const KEPT: [Property; 4] =
    [Property::MutualExclusion, Property::LeaseHonoured, Property::ReleasesOnlyOwn, Property::TruthfulOutcome];

fn coarse(locker: &Arc<dyn Locker>, ticks: u16, faults: FaultBudget) -> Scene {
    crowd(locker, 2, Bounds::ticks(ticks).faults(faults)).grain(Grain::Coarse)
}

/// The shortest schedule that breaks this rule.
fn breaks(scene: &Scene, rule: Property) -> Option<Vec<Action>> {
    let found = search(scene, &[rule]);
    assert_eq!(found.end, End::Exhausted);
    found.violations.into_iter().next().map(|violation| violation.actions)
}

fn is_clean(scene: &Scene) {
    let found = search(scene, &KEPT);
    assert_eq!((violated(&found), found.end), (vec![], End::Exhausted));
}

#[test]
fn an_evicted_key_lets_a_second_client_in() {
    let evicted = FaultBudget { evictions: 1, ..FaultBudget::NONE };
    let schedule = breaks(&coarse(&token(2), 0, evicted), Property::MutualExclusion);
    assert_eq!(schedule.unwrap(), [Action::Step(0), Action::Evict(0, 0), Action::Step(1)]);
    is_clean(&coarse(&token(2), 0, FaultBudget::NONE));
}

/// Redis 7 keeps a key through the millisecond of its deadline, Redis 8 may remove it in that millisecond and not sooner. A client
/// that looks at its own clock instead of the value, and deletes whatever is there, removes another client's lock.
#[test]
fn a_key_that_goes_in_the_millisecond_of_its_deadline_harms_no_token() {
    let removed = FaultBudget { removals_at_deadline: 2, ..FaultBudget::NONE };
    let scene = coarse(&token(2), 2, removed);
    let held = scene.apply(&scene.world(), Action::Step(0));
    let before = scene.apply(&held, Action::Tick);
    let at_deadline = scene.apply(&before, Action::Tick);
    let removes = |world: &World| scene.actions(world).contains(&Action::RemoveAtDeadline(0, 0));
    assert_eq!([&held, &before, &at_deadline].map(removes), [false, false, true]);
    let key = scene.clients[0].locker.key();
    let after = scene.apply(&at_deadline, Action::RemoveAtDeadline(0, 0));
    let found = [&at_deadline, &after].map(|world| world.node.server.keys().any(|held| held == key));
    assert_eq!((found, after.faults.removals_at_deadline), ([true, false], 1));

    is_clean(&coarse(&token(2), 5, FaultBudget { crashes: 1, client_restarts: 1, ..removed }));
    let lock = Lock::new(catalogue::find("npm-redis-lock-0.1.0").unwrap(), Key::from("k"), lease(2));
    let by_clock: Arc<dyn Locker> = Arc::new(lock);
    is_clean(&coarse(&by_clock, 5, FaultBudget::NONE));
    let schedule = breaks(&coarse(&by_clock, 5, removed), Property::ReleasesOnlyOwn).unwrap();
    let (tick, remove) = (Action::Tick, Action::RemoveAtDeadline(0, 0));
    assert_eq!(schedule, [Action::Step(0), tick, tick, remove, Action::Step(1), Action::Step(0)]);
}

/// Two clients of each protocol, of the bridge and of the guard.
#[test]
fn only_a_lock_that_looks_at_its_own_clock_is_broken_by_keys_that_go_at_their_deadline() {
    let broken = |name: &str, removals_at_deadline| -> Vec<Property> {
        let choice: Choice = name.parse().expect("it is a protocol");
        let faults = FaultBudget { crashes: 1, removals_at_deadline, ..FaultBudget::NONE };
        let client = Client::new(name, choice.locker("k".into(), lease(2)));
        let scene = Scene::new(Bounds::ticks(5).faults(faults)).grain(Grain::Coarse).servers(choice.servers());
        let found = search(&scene.client(client.clone()).client(client), &KEPT);
        assert_eq!(found.end, End::Exhausted, "{name}");
        found.violations.into_iter().map(|violation| violation.property).collect()
    };
    let around = ["bridge:php-getset", "guard:php-getset", "bridge-guard:php-getset"];
    let names: Vec<_> = protocols::catalogue().map(|protocol| protocol.name()).chain(around).collect();
    assert!(names.len() > 100, "{}", names.len());
    let harmed = names.into_iter().filter(|name| broken(name, 0) != broken(name, 2));
    assert_eq!(harmed.collect::<Vec<_>>(), ["npm-redis-lock-0.1.0"]);
}

/// A client of a token lock draws a new token after an attempt of which a command may still be on its way, as a driver does: a
/// late deletion names a token that no client has any more.
#[test]
fn a_command_of_an_earlier_attempt_touches_no_later_one() {
    for faults in [
        FaultBudget { late_requests: 2, ..FaultBudget::NONE },
        FaultBudget { late_requests: 1, lost_requests: 1, ..FaultBudget::NONE },
        FaultBudget { late_requests: 1, lost_replies: 1, ..FaultBudget::NONE },
    ] {
        let once = coarse(&token(2), 3, faults);
        let mut again = once.clone();
        again.clients.iter_mut().for_each(|client| client.rounds = Times::Of(2));
        let mut for_ever = once.clone();
        for_ever.clients.iter_mut().for_each(|client| client.rounds = Times::Forever);
        [once, again, for_ever].iter().for_each(is_clean);
    }
}

#[test]
fn a_restart_without_data_lets_a_second_client_in_and_one_with_data_does_not() {
    let emptied = FaultBudget { data_losses: 1, ..FaultBudget::NONE };
    let schedule = breaks(&coarse(&token(2), 0, emptied), Property::MutualExclusion);
    assert_eq!(schedule.unwrap(), [Action::Step(0), Action::LoseData(0), Action::Step(1)]);
    // The release finds that the server has forgotten its script, and sends it again.
    is_clean(&coarse(&token(2), 3, FaultBudget { restarts: 2, ..FaultBudget::NONE }));
}

/// A lease of two ticks; Redis keeps a key at exactly its deadline.
#[test]
fn a_server_clock_that_is_set_ahead_ends_a_lease_early() {
    let steps = |steps| FaultBudget { server_clock_steps: steps, ..FaultBudget::NONE };
    is_clean(&coarse(&token(2), 0, steps(2)));
    let schedule = breaks(&coarse(&token(2), 0, steps(3)), Property::MutualExclusion).unwrap();
    let set = schedule.iter().filter(|action| **action == Action::SetServerClock(0, 1)).count();
    assert_eq!((set, schedule.len()), (3, 5), "{schedule:?}");
}

#[test]
fn a_client_clock_that_is_set_ahead_steals_a_stamp_and_no_token() {
    let steps = |steps| FaultBudget { clock_steps: steps, ..FaultBudget::NONE };
    assert_eq!(breaks(&coarse(&getset(2), 0, steps(2)), Property::MutualExclusion), None);
    let schedule = breaks(&coarse(&getset(2), 0, steps(3)), Property::MutualExclusion).unwrap();
    assert_eq!(schedule.iter().filter(|action| matches!(action, Action::SetClock(..))).count(), 3, "{schedule:?}");
    is_clean(&coarse(&token(2), 3, steps(3)));
}

/// Clients that release at once: only a release that was given up comes late.
#[test]
fn a_request_that_runs_after_its_sender_gave_up_frees_another_clients_lock() {
    let prompt = |locker: Arc<dyn Locker>, late_requests| {
        let client = Client { prompt: true, pause: 1, ..Client::new("test", locker) };
        let bounds = Bounds::ticks(4).faults(FaultBudget { late_requests, ..FaultBudget::NONE });
        Scene::new(bounds).grain(Grain::Coarse).client(client.clone()).client(client)
    };
    let plain_del = || Mistaken::shared(Mistake::PlainDel, 1);
    is_clean(&prompt(plain_del(), 0));
    let schedule = breaks(&prompt(plain_del(), 1), Property::LeaseHonoured).unwrap();
    assert_eq!(schedule.last(), Some(&Action::RunLate(0)), "{schedule:?}");
    is_clean(&prompt(token(1), 1));
}

/// A lock without a lease keeps out even its former owner.
#[test]
fn a_client_that_starts_anew_is_another_owner() {
    let alone = |client_restarts| {
        let client = Client::new("test", Mistaken::shared(Mistake::NoLease, 1));
        let faults = FaultBudget { crashes: 1, client_restarts, ..FaultBudget::NONE };
        Scene::new(Bounds::ticks(1).afterwards(100).faults(faults)).client(client)
    };
    let lost = |scene: &Scene| breaks(scene, Property::CanBeTakenAgain);
    assert_eq!(lost(&alone(0)), None, "no client is left that waits");
    let schedule = lost(&alone(1)).unwrap();
    assert_eq!(schedule[schedule.len() - 2..], [Action::Crash(0), Action::RestartClient(0)], "{schedule:?}");
}
