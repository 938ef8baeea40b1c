//! The modern locks beyond the token: three clients, a clock that ticks, one that dies, every schedule to the end.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use lockshift::explore::{Bounds, Client, End, FaultBudget, Grain, Property, Scene};
use lockshift::lock::{Locker, Mode};
use lockshift::modern::redisson::{Fair, Kind, Mutex, ReadWrite};
use lockshift::modern::{FencedTokenLock, MultiKeyLock, ReentrantLock, Semaphore};
use lockshift::wire::{Command, Key, script_file};

use super::locks::lease;
use super::{crowd, search, violated};

/// Every property of a step and of a world.
const WATCHED: [Property; 7] = [
    Property::MutualExclusion,
    Property::ReaderExcludesWriter,
    Property::LeaseHonoured,
    Property::ReleasesOnlyOwn,
    Property::TruthfulOutcome,
    Property::NoPhantom,
    Property::TriesAsAsked,
];

/// These scripts, by the names of their files.
macro_rules! scripts {
    ($($name:literal),* $(,)?) => {
        &[$(script_file!(concat!("../../../modern/src/lua/", $name, ".lua")).text()),*]
    };
}

fn k() -> Key {
    Key::from("k")
}

/// A round trip is a step, the server knows the scripts, one client may die.
fn coarse(scene: Scene, scripts: &[&str]) -> Scene {
    bounded(scene.grain(Grain::Coarse), 4, scripts)
}

/// The same, but that a reply can be on its way while others act.
fn fine(scene: Scene, scripts: &[&str]) -> Scene {
    bounded(scene.grain(Grain::Fine), 2, scripts)
}

/// As the coarse scene, and the server may remove keys in the millisecond of their deadline, as Redis does since 8.0.
fn at_deadlines(scene: Scene, scripts: &[&str]) -> Scene {
    let mut scene = coarse(scene, scripts);
    scene.bounds.faults = FaultBudget { removals_at_deadline: 2, ..scene.bounds.faults };
    scene
}

fn bounded(mut scene: Scene, ticks: u16, scripts: &[&str]) -> Scene {
    scene.bounds = Bounds::ticks(ticks).crashes(1);
    scripts.iter().fold(scene, |scene, text| scene.after_command(0, &Command::new("SCRIPT").arg("LOAD").arg(text)))
}

fn is_clean(name: &str, scene: &Scene, properties: &[Property]) {
    let found = search(scene, properties);
    assert_eq!((violated(&found), found.end), (vec![], End::Exhausted), "{name}, {:?}", scene.grain);
    assert!(found.states > 100, "{name}: {} worlds are no contention", found.states);
}

#[test]
fn three_clients_cannot_break_a_lock_of_one_owner() {
    let mutex = |kind| Arc::new(Mutex::new(k(), lease(2)).kind(kind));
    let both = MultiKeyLock::new(["k", "{k}:2"].map(Key::from), lease(2)).expect("they are in one slot");
    let redisson = scripts!["redisson/acquire", "redisson/unlock"];
    let permit = NonZeroU32::MIN;
    let table: [(&str, Arc<dyn Locker>, &[&str]); 9] = [
        ("token-fenced", Arc::new(FencedTokenLock::new(k(), lease(2))), scripts!["fenced/acquire", "release"]),
        ("reentrant", Arc::new(ReentrantLock::new(k(), lease(2))), scripts!["reentrant/acquire", "reentrant/release"]),
        (
            "reentrant, fenced",
            Arc::new(ReentrantLock::new(k(), lease(2)).fenced()),
            scripts!["reentrant/acquire_fenced", "reentrant/release"],
        ),
        ("multi-key", Arc::new(both), scripts!["multi/acquire", "multi/release"]),
        (
            "semaphore of one permit",
            Arc::new(Semaphore::new(k(), permit, lease(2))),
            scripts!["semaphore/acquire", "semaphore/release"],
        ),
        ("redisson", mutex(Kind::Reentrant), redisson),
        ("redisson, fenced", mutex(Kind::Fenced), scripts!["redisson/acquire_fenced", "redisson/unlock"]),
        ("redisson, spin", mutex(Kind::Spin), scripts!["redisson/acquire", "redisson/unlock_spin"]),
        ("redisson, non-reentrant", mutex(Kind::NonReentrant), redisson),
    ];
    for (name, lock, scripts) in table {
        is_clean(name, &coarse(crowd(&lock, 3, Bounds::ticks(0)), scripts), &WATCHED);
        is_clean(name, &fine(crowd(&lock, 3, Bounds::ticks(0)), scripts), &WATCHED);
        is_clean(name, &at_deadlines(crowd(&lock, 3, Bounds::ticks(0)), scripts), &WATCHED);
    }
}

fn semaphore(permits: u32) -> Arc<dyn Locker> {
    Arc::new(Semaphore::new(k(), NonZeroU32::new(permits).unwrap(), lease(2)))
}

#[test]
fn three_clients_never_hold_more_than_two_permits() {
    let scripts = scripts!["semaphore/acquire", "semaphore/release"];
    for scene in [coarse, fine, at_deadlines] {
        let scene = scene(crowd(&semaphore(2), 3, Bounds::ticks(0)), scripts);
        is_clean("semaphore,permits=2", &scene, &WATCHED);
    }
}

#[test]
fn a_client_with_another_number_of_permits_is_found() {
    let client = |permits| Client::new("semaphore", semaphore(permits));
    let scene = Scene::new(Bounds::ticks(0)).client(client(2)).client(client(2)).client(client(3));
    let found =
        search(&coarse(scene, scripts!["semaphore/acquire", "semaphore/release"]), &[Property::MutualExclusion]);
    assert!(
        matches!(violated(&found)[..], [(Property::MutualExclusion, _)]),
        "three hold, and two of them know of two permits"
    );
}

/// What waits in the queue keeps newcomers out, and so it should: that is no phantom.
#[test]
fn three_clients_cannot_break_the_fair_lock() {
    let lock: Arc<dyn Locker> = Arc::new(Fair::new(k(), lease(2)).patience(Duration::from_secs(1)));
    let properties = WATCHED.into_iter().filter(|property| *property != Property::NoPhantom).collect::<Vec<_>>();
    let scripts = scripts!["redisson/fair/acquire", "redisson/fair/unlock"];
    for scene in [coarse, at_deadlines] {
        is_clean("redisson, fair", &scene(crowd(&lock, 3, Bounds::ticks(0)), scripts), &properties);
    }
}

#[test]
fn readers_and_writers_cannot_break_the_read_write_lock_of_redisson() {
    let side = |mode| Client::new("redisson-rw", Arc::new(ReadWrite::new(k(), mode, lease(2))));
    let (reader, writer) = (side(Mode::Shared), side(Mode::Exclusive));
    let scripts =
        scripts!["redisson/read/acquire", "redisson/read/unlock", "redisson/write/acquire", "redisson/write/unlock",];
    for clients in [[&reader, &reader, &writer], [&reader, &writer, &writer]] {
        let scene =
            clients.into_iter().fold(Scene::new(Bounds::ticks(0)), |scene, client| scene.client(client.clone()));
        is_clean("redisson-rw", &coarse(scene.clone(), scripts), &WATCHED);
        is_clean("redisson-rw", &at_deadlines(scene, scripts), &WATCHED);
    }
}
