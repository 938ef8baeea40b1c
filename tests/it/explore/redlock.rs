//! Redlock on three servers: every order in which the commands of everybody's rounds may arrive.

use std::num::NonZeroU8;
use std::sync::Arc;

use lockshift::explore::{Action, Bounds, Client, End, Grain, Properties, Property, Scene, Search};
use lockshift::lock::Locker;
use lockshift::modern::Redlock;
use lockshift::wire::{Command, Key, Node};

use super::locks::lease;
use super::{search, violated};

const THREE: NonZeroU8 = NonZeroU8::new(3).unwrap();

/// All that must hold whatever happens to clients and replies.
const SAFE: [Property; 3] = [Property::MutualExclusion, Property::ReleasesOnlyOwn, Property::TruthfulOutcome];

/// These clients of Redlock on three servers that have known its scripts for long.
fn scene(clients: usize, bounds: Bounds) -> Scene {
    let locker: Arc<dyn Locker> = Arc::new(Redlock::new(Key::from("k"), lease(2), THREE));
    let scripts = ["release", "extend"].map(|name| std::fs::read(format!("modern/src/lua/{name}.lua")).unwrap());
    let mut scene = Scene::new(bounds).grain(Grain::Coarse).servers(THREE.get());
    for (node, script) in (0..THREE.get()).flat_map(|node| scripts.iter().map(move |script| (node, script))) {
        scene = scene.after_command(0, &Command::new("SCRIPT").arg("LOAD").arg(script).on(Node(node)));
    }
    let client = Client::new("redlock", locker);
    (0..clients).fold(scene, |scene, _| scene.client(client.clone()))
}

#[test]
fn three_clients_and_a_crash_exclude_each_other() {
    let bounds = Bounds { crashes: 1, ..Bounds::ticks(3) };
    let mut scene = scene(3, bounds);
    scene.clients.iter_mut().for_each(|client| client.tries = lockshift::explore::Times::Of(1));
    let findings = search(&scene, &SAFE);
    assert_eq!((findings.end, violated(&findings)), (End::Exhausted, vec![]));
    eprintln!("{} worlds", findings.worlds);
}
