//! What is explored for a phase: a few clients of every kind that it has, on an empty key, after the death of an owner, with
//! a crash among them, with a lost reply, and with clocks that differ.

use std::sync::Arc;
use std::time::Duration;

use super::effort::Effort;
use super::phase::Phase;
use crate::bridge::{Bridge, StolenStamp, Unbridgeable, new_key};
use crate::explore::{Bounds, Client, Grain, Scene, Times};
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
    modern: Client,
    /// How long after a lease began the last of the old clients takes the lock for expired, at the latest, in seconds.
    patience: u16,
    /// In whose form the bridge writes.
    pub(super) stamp_of: &'static Dialect,
    /// What the old clients take over from each other while it is held.
    pub(super) stolen: Vec<StolenStamp>,
}

/// The lease of old clients: the shortest in ticks of a second, so that few ticks show much. Beside two old clients the third
/// holds for longer, so that not every stamp of one moment is the same.
const LEASE: Duration = Duration::from_secs(1);
/// That longer lease, and the lease of bridges and new clients, which they extend after a second.
const LONGER: Duration = Duration::from_secs(2);
/// When an owner died, in seconds before the first: long enough for every tolerance.
const DIED_AGO: u16 = 9;
/// A client may crash; then all leases expire.
pub(super) const A_CRASH: Bounds = Bounds::ticks(1).crashes(1).afterwards(1_000);
/// The shortest difference of two clocks that is explored; shorter ones count as this.
const SHORTEST_MS: u64 = 100;
/// Two clients' clocks are read on and between whole seconds.
const HALF_A_SECOND_MS: u64 = 500;

impl Participants {
    pub(super) fn new(fleet: &[&'static Dialect], to: &Choice) -> Result<Self, Unbridgeable> {
        let key = Key::from("lock");
        let [lease, longer] = [LEASE, LONGER].map(|length| Lease::new(length).expect("some seconds are a lease"));
        let renewed = |client: Client| Client { renew_after: Some(1), ..client };
        let old = |lease: Lease| {
            let lock = |dialect| Arc::new(legacy::Lock::new(dialect, key.clone(), lease));
            fleet.iter().map(|dialect| Client::new(dialect.name, lock(dialect))).collect()
        };
        let across = |bridge: Bridge| renewed(Client::new("bridge", Arc::new(bridge)));
        let bridge = Bridge::accepting_double_holds(fleet, key.clone(), longer)?;
        let stolen = match Bridge::new(fleet, key.clone(), lease) {
            Err(Unbridgeable::NotExclusive(stolen)) => stolen,
            Ok(_) | Err(_) => Vec::new(),
        };
        // A lock that finds the new key by itself is given the old one.
        let on_old = to.locker(key.clone(), longer);
        let modern = if *on_old.key() == new_key(&key) { on_old } else { to.locker(new_key(&key), longer) };
        Ok(Self {
            stamp_of: bridge.stamp_of(),
            legacy: old(lease),
            longer_legacy: old(longer),
            bridge: across(bridge),
            modern: renewed(Client::new(to.to_string(), modern)),
            patience: fleet.iter().map(|dialect| patience(dialect)).max().unwrap_or(0),
            stolen,
        })
    }

    /// How many seconds to explore at first: until the last of the old clients has taken an expired lock, and until its own
    /// has expired in turn.
    pub(super) fn seconds(&self) -> u16 {
        2 * self.patience
    }

    /// How long a tick is for two clients whose clocks are so far apart.
    pub(super) fn tick(&self, clocks_within: Duration) -> Duration {
        Duration::from_millis(greatest_common_divisor(HALF_A_SECOND_MS, apart_ms(clocks_within)))
    }

    /// The scenes of a phase in which a client crashes, and then all leases expire.
    pub(super) fn scenes_with_a_crash(&self, phase: Phase, effort: &Effort<'_>) -> Vec<Scene> {
        let mut scenes = Vec::new();
        for group in self.groups(phase) {
            scenes.push(scene(&group[..2], A_CRASH, effort.grain.unwrap_or(Grain::Coarse)));
            if group[2].protocol != group[0].protocol {
                scenes.push(scene(&group[1..], A_CRASH, effort.grain.unwrap_or(Grain::Coarse)));
            }
        }
        scenes
    }

    /// The scenes of a phase in which so many seconds pass, in an order that does not change.
    pub(super) fn scenes(&self, phase: Phase, seconds: u16, effort: &Effort<'_>) -> Vec<Scene> {
        let grain = effort.grain.unwrap_or(Grain::Coarse);
        let died = phase.has_legacy() || phase == Phase::Bridge;
        let groups = self.groups(phase);
        let mut scenes = Vec::new();
        for group in &groups {
            scenes.push(scene(group, Bounds::ticks(seconds), grain));
            if died {
                scenes.push(scene_after(group, &self.legacy[0], Bounds::ticks(seconds), grain));
            }
        }
        for group in &groups {
            scenes.extend(self.pairs(&group[..2], seconds, effort));
            if group[2].protocol != group[0].protocol {
                scenes.extend(self.pairs(&group[1..], seconds, effort));
            }
        }
        scenes
    }

    /// Two clients, each of which acquires twice, whose clock readings are steps of their own: between whole seconds, with a
    /// lost reply, and each of them ahead of the other.
    fn pairs(&self, pair: &[Client], seconds: u16, effort: &Effort<'_>) -> Vec<Scene> {
        let grain = effort.grain.unwrap_or(Grain::Medium);
        let twice = |client: &Client| Client { rounds: Times::Of(2), ..client.clone() };
        let both_twice: Vec<Client> = pair.iter().map(twice).collect();
        let within = Bounds::ticks(seconds);
        let mut scenes = vec![scene(&both_twice, within, grain), scene(pair, within.lost_replies(1), grain)];
        let tick = self.tick(effort.clocks_within);
        let ticks = ticks_in(seconds, tick);
        let ahead_ms = i64::try_from(apart_ms(effort.clocks_within)).unwrap_or(i64::MAX);
        let places: &[usize] = if ahead_ms == 0 { &[0] } else { &[0, 1] };
        for &place in places {
            let mut pair = pair.to_vec();
            pair[place].skew_ms = ahead_ms;
            for client in &mut pair {
                client.renew_after = client.renew_after.map(|after| ticks_in(after, tick));
            }
            let mut scene = scene(&pair, Bounds::ticks(ticks), grain);
            scene.tick = tick;
            scenes.push(scene);
        }
        scenes
    }

    /// Three clients each: of the old ones any two, so that every pair of dialects meets.
    fn groups(&self, phase: Phase) -> Vec<Vec<Client>> {
        let (bridge, modern) = (&self.bridge, &self.modern);
        let third = |place: usize| match phase {
            Phase::LegacyAndBridge => self.bridge.clone(),
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

/// At which second after its lease began a client of this dialect takes a lock of its own kind for expired, at the latest.
fn patience(dialect: &Dialect) -> u16 {
    let slack = dialect.look.map_or(Duration::ZERO, |look| look.slack);
    let until = LEASE + dialect.form.stamp.margin + slack;
    // The first whole second after that: the comparison may be strict.
    u16::try_from(until.as_secs()).unwrap_or(u16::MAX).saturating_add(1)
}

/// The difference of two clocks that is explored, in milliseconds.
fn apart_ms(clocks_within: Duration) -> u64 {
    u64::try_from(clocks_within.as_millis()).unwrap_or(u64::MAX).div_ceil(SHORTEST_MS) * SHORTEST_MS
}

fn ticks_in(seconds: u16, tick: Duration) -> u16 {
    let ticks = Duration::from_secs(seconds.into()).as_millis() / tick.as_millis().max(1);
    u16::try_from(ticks).unwrap_or(u16::MAX)
}

fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

/// These clients, on a server that knows their scripts.
fn scene(group: &[Client], bounds: Bounds, grain: Grain) -> Scene {
    let scene = Scene::new(bounds).grain(grain);
    let texts = group.iter().flat_map(|client| scripts(&*client.locker));
    let scene = texts.fold(scene, |scene, text| scene.after_command(0, &Command::new("SCRIPT").arg("LOAD").arg(text)));
    group.iter().fold(scene, |scene, client| scene.client(client.clone()))
}

/// The same, after a client sent the first command of an attempt that wrote something, and died.
fn scene_after(group: &[Client], dead: &Client, bounds: Bounds, grain: Grain) -> Scene {
    let scene = scene(group, bounds, grain);
    let ago = i64::from(DIED_AGO) * 1_000_000_000;
    let died = UnixTime::from_nanos(scene.begin.as_nanos() - ago);
    let commands = commands_of_an_attempt(&*dead.locker, died);
    let first = commands.iter().find(|command| !command.only_reads());
    first.into_iter().fold(scene, |scene, command| scene.after_command(DIED_AGO, command))
}
