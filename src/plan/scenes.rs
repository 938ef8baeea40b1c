//! What is explored for a phase: a few clients of every kind that it has, on an empty key, after somebody's death, and with
//! a death among them.

use std::sync::Arc;
use std::time::Duration;

use super::phase::Phase;
use crate::bridge::{Bridge, Unbridgeable, new_key};
use crate::explore::{Bounds, Client, Grain, Scene};
use crate::legacy::{self, Dialect};
use crate::lock::Lease;
use crate::protocols::Choice;
use crate::races::{commands_of_a_try, scripts};
use crate::wire::{Command, Key, UnixTime};

/// Who may take part: a lock of every kind.
pub(super) struct Cast {
    legacy: Vec<Client>,
    /// The same with a longer lease.
    longer_legacy: Vec<Client>,
    bridge: Client,
    longer_bridge: Client,
    modern: Client,
    /// In whose form the bridge writes.
    pub(super) stamp_of: &'static Dialect,
}

/// Leases here, in ticks of a second. Beside two old clients the third holds for longer, so that not every stamp of one moment
/// is the same.
const LEASE: Duration = Duration::from_secs(2);
const LONGER: Duration = Duration::from_secs(3);
/// When somebody died, in ticks before the first: long enough for every tolerance.
const DIED_AGO: u16 = 9;
/// A lease, a tick until the last of the old clients takes it for over, and the lease of another.
const TICKS: Bounds = Bounds::ticks(3);
/// Somebody may die; then all leases run out.
const A_DEATH: Bounds = Bounds { crashes: 1, afterwards: Some(1_000), ..Bounds::ticks(1) };

impl Cast {
    pub(super) fn new(fleet: &[&'static Dialect], to: &Choice) -> Result<Self, Unbridgeable> {
        let key = Key::from("lock");
        let [lease, longer] = [LEASE, LONGER].map(|length| Lease::new(length).expect("some seconds are a lease"));
        let renewed = |client: Client| Client { renew_after: Some(1), ..client };
        let old = |lease: Lease| {
            let lock = |dialect| Arc::new(legacy::Lock::new(dialect, key.clone(), lease));
            fleet.iter().map(|dialect| Client::new(dialect.name, lock(dialect))).collect()
        };
        let across = |bridge: Bridge| renewed(Client::new("bridge", Arc::new(bridge)));
        let bridge = Bridge::accepting_double_holds(fleet, key.clone(), lease)?;
        Ok(Self {
            stamp_of: bridge.stamp_of(),
            legacy: old(lease),
            longer_legacy: old(longer),
            bridge: across(bridge),
            longer_bridge: across(Bridge::accepting_double_holds(fleet, key.clone(), longer)?),
            modern: renewed(Client::new(to.to_string(), to.locker(new_key(&key), lease))),
        })
    }

    /// The scenes of a phase, in an order that does not change.
    pub(super) fn scenes(&self, phase: Phase) -> Vec<Scene> {
        let crowds = self.crowds(phase);
        let died = phase.has_legacy() || phase == Phase::Bridge;
        let mut scenes = Vec::new();
        for crowd in &crowds {
            scenes.push(scene(crowd, TICKS));
            if died {
                scenes.push(scene_after(crowd, &self.legacy[0]));
            }
        }
        for crowd in &crowds {
            scenes.push(scene(&crowd[..2], A_DEATH));
            if crowd[2].protocol != crowd[0].protocol {
                scenes.push(scene(&crowd[1..], A_DEATH));
            }
        }
        scenes
    }

    /// Three clients each: of the old ones any two, so that every pair of dialects meets.
    fn crowds(&self, phase: Phase) -> Vec<Vec<Client>> {
        let (bridge, modern) = (&self.bridge, &self.modern);
        let third = |place: usize| match phase {
            Phase::LegacyAndBridge => self.longer_bridge.clone(),
            Phase::Legacy | Phase::Bridge | Phase::BridgeAndModern | Phase::Modern => self.longer_legacy[place].clone(),
        };
        match phase {
            Phase::Legacy | Phase::LegacyAndBridge => {
                let legacy = &self.legacy;
                let pairs = (0..legacy.len()).flat_map(|one| (one..legacy.len()).map(move |other| (one, other)));
                pairs.map(|(one, other)| vec![legacy[one].clone(), legacy[other].clone(), third(one)]).collect()
            }
            Phase::Bridge => vec![vec![bridge.clone(), bridge.clone(), bridge.clone()]],
            Phase::BridgeAndModern => vec![
                vec![bridge.clone(), bridge.clone(), modern.clone()],
                vec![modern.clone(), modern.clone(), bridge.clone()],
            ],
            Phase::Modern => vec![vec![modern.clone(), modern.clone(), modern.clone()]],
        }
    }
}

/// These clients, on a server that knows their scripts.
fn scene(crowd: &[Client], bounds: Bounds) -> Scene {
    let scene = Scene::new(bounds).grain(Grain::Coarse);
    let texts = crowd.iter().flat_map(|client| scripts(&*client.locker));
    let scene = texts.fold(scene, |scene, text| scene.after_command(0, &Command::new("SCRIPT").arg("LOAD").arg(text)));
    crowd.iter().fold(scene, |scene, client| scene.client(client.clone()))
}

/// The same, after somebody sent the first command of a try that wrote something, and died.
fn scene_after(crowd: &[Client], dead: &Client) -> Scene {
    let scene = scene(crowd, TICKS);
    let ago = i64::from(DIED_AGO) * 1_000_000_000;
    let died = UnixTime::from_nanos(scene.begin.as_nanos() - ago);
    let commands = commands_of_a_try(&*dead.locker, died);
    let first = commands.iter().find(|command| !command.only_reads());
    first.into_iter().fold(scene, |scene, command| scene.after_command(DIED_AGO, command))
}
