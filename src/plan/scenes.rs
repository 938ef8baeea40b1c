//! What is explored for a phase: a few clients of every kind that it has, on an empty key, after the death of an owner, and
//! with a crash among them.

use std::sync::Arc;
use std::time::Duration;

use super::phase::Phase;
use crate::bridge::{Bridge, Unbridgeable, new_key};
use crate::explore::{Bounds, Client, Grain, Scene};
use crate::legacy::{self, Dialect};
use crate::lock::Lease;
use crate::protocols::Choice;
use crate::rehearsal::{commands_of_an_attempt, scripts};
use crate::wire::{Command, Key, UnixTime};

/// The clients that may take part: one of every kind.
pub(super) struct Participants {
    legacy: Vec<Client>,
    /// The same with a longer lease.
    longer_legacy: Vec<Client>,
    bridge: Client,
    longer_bridge: Client,
    modern: Client,
    /// In whose form the bridge writes.
    pub(super) stamp_of: &'static Dialect,
}

/// How much of each phase is explored. A race that needs more is not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanBounds {
    /// Clients at a time.
    pub clients: usize,
    /// Their leases. Beside two old clients the third holds for longer, so that not every stamp of one moment is the same.
    pub leases: [Duration; 2],
    /// By so many whole seconds the clocks, which agree, advance.
    pub ticks: u16,
    /// How many of two clients may crash, in schedules of their own.
    pub crashes: u8,
}

/// The bounds of every plan: a lease, a tick until the last of the old clients takes it for expired, and the lease of another.
pub const BOUNDS: PlanBounds =
    PlanBounds { clients: 3, leases: [Duration::from_secs(2), Duration::from_secs(3)], ticks: 3, crashes: 1 };

/// When an owner died, in ticks before the first: long enough for every tolerance.
const DIED_AGO: u16 = 9;
const TICKS: Bounds = Bounds::ticks(BOUNDS.ticks);
/// A client may crash; then all leases expire.
const A_CRASH: Bounds = Bounds::ticks(1).crashes(BOUNDS.crashes).afterwards(1_000);

impl Participants {
    pub(super) fn new(fleet: &[&'static Dialect], to: &Choice) -> Result<Self, Unbridgeable> {
        let key = Key::from("lock");
        let [lease, longer] = BOUNDS.leases.map(|length| Lease::new(length).expect("some seconds are a lease"));
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
        let groups = self.groups(phase);
        let died = phase.has_legacy() || phase == Phase::Bridge;
        let mut scenes = Vec::new();
        for group in &groups {
            scenes.push(scene(group, TICKS));
            if died {
                scenes.push(scene_after(group, &self.legacy[0]));
            }
        }
        for group in &groups {
            scenes.push(scene(&group[..2], A_CRASH));
            if group[2].protocol != group[0].protocol {
                scenes.push(scene(&group[1..], A_CRASH));
            }
        }
        scenes
    }

    /// Three clients each: of the old ones any two, so that every pair of dialects meets.
    fn groups(&self, phase: Phase) -> Vec<Vec<Client>> {
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
fn scene(group: &[Client], bounds: Bounds) -> Scene {
    let scene = Scene::new(bounds).grain(Grain::Coarse);
    let texts = group.iter().flat_map(|client| scripts(&*client.locker));
    let scene = texts.fold(scene, |scene, text| scene.after_command(0, &Command::new("SCRIPT").arg("LOAD").arg(text)));
    group.iter().fold(scene, |scene, client| scene.client(client.clone()))
}

/// The same, after a client sent the first command of an attempt that wrote something, and died.
fn scene_after(group: &[Client], dead: &Client) -> Scene {
    let scene = scene(group, TICKS);
    let ago = i64::from(DIED_AGO) * 1_000_000_000;
    let died = UnixTime::from_nanos(scene.begin.as_nanos() - ago);
    let commands = commands_of_an_attempt(&*dead.locker, died);
    let first = commands.iter().find(|command| !command.only_reads());
    first.into_iter().fold(scene, |scene, command| scene.after_command(DIED_AGO, command))
}
