//! What is explored for a phase: a few clients of every kind that it has, on an empty key, after the death of an owner, with
//! a crash among them, with a lost reply, and with clocks that differ.

use std::sync::Arc;
use std::time::Duration;

use super::effort::Effort;
use super::no_plan::NoPlan;
use super::phase::{Phase, Way};
use crate::bridge::{Bridge, StolenStamp, Unbridgeable, new_key};
use crate::explore::{Bounds, Client, Grain, Scene, Times};
use crate::legacy::{self, Dialect, Refresh};
use crate::lock::{Lease, Locker};
use crate::protocols::{Choice, ModeOfGuard};
use crate::rehearsal::{commands_of_an_attempt, scripts};
use crate::wire::{Command, Key, UnixTime};

/// The clients that may take part: one of every kind.
pub(super) struct Participants {
    legacy: Vec<Client>,
    /// The same with a longer lease.
    longer_legacy: Vec<Client>,
    bridge: Client,
    /// The old clients behind guards in bridge mode; empty if the fleet migrates by bridges.
    guarded: Vec<Client>,
    modern: Client,
    /// The locks of those that can extend, and the same locks with that extension.
    extensible: Vec<(Arc<dyn Locker>, Arc<dyn Locker>)>,
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
/// That longer lease, and the lease of bridges and new clients.
const LONGER: Duration = Duration::from_secs(2);
/// When clients extend their lock that can and still work, and when their work is done, in seconds.
const EXTENDED_AFTER: u16 = 1;
const WORK: u16 = 2;
/// When an owner died, in seconds before the first: long enough for every tolerance.
const DIED_AGO: u16 = 9;
const A_SECOND: Duration = Duration::from_secs(1);
/// A client may crash; then all leases expire.
pub(super) const A_CRASH: Bounds = Bounds::ticks(1).crashes(1).afterwards(1_000);
/// The shortest difference of two clocks that is explored; shorter ones count as this.
const SHORTEST_MS: u64 = 100;
/// Two clients' clocks are read on and between whole seconds.
const HALF_A_SECOND_MS: u64 = 500;

impl Participants {
    pub(super) fn new(fleet: &[&'static Dialect], to: &Choice, way: Way) -> Result<Self, NoPlan> {
        let key = Key::from("lock");
        let [lease, longer] = [LEASE, LONGER].map(|length| Lease::new(length).expect("some seconds are a lease"));
        let lock = |dialect, lease| legacy::Lock::new(dialect, key.clone(), lease);
        let old = |lease: Lease| -> Vec<Client> {
            fleet.iter().map(|dialect| Client::new(dialect.name, Arc::new(lock(dialect, lease)))).collect()
        };
        let (legacy, longer_legacy) = (old(lease), old(longer));
        let behind_guard = |dialect: &&'static Dialect| {
            let name = guarded_name(dialect, fleet);
            let choice: Choice = name.parse().map_err(NoPlan::NoGuard)?;
            Ok(Client::new(name, choice.locker(key.clone(), lease)))
        };
        let guarded = match way {
            Way::Bridge => Vec::new(),
            Way::Guard => fleet.iter().map(behind_guard).collect::<Result<_, NoPlan>>()?,
        };
        let bridge = Bridge::accepting_double_holds(fleet, key.clone(), longer)?;
        let stolen = match Bridge::new(fleet, key.clone(), lease) {
            Err(Unbridgeable::NotExclusive(stolen)) => stolen,
            Ok(_) | Err(_) => Vec::new(),
        };
        // A lock that finds the new key by itself is given the old one.
        let on_old = to.locker(key.clone(), longer);
        let modern = if *on_old.key() == new_key(&key) { on_old } else { to.locker(new_key(&key), longer) };
        let stamp_of = bridge.stamp_of();
        let (bridge, modern) = (Client::new("bridge", Arc::new(bridge)), Client::new(to.to_string(), modern));
        let mut extensible: Vec<_> = [&bridge, &modern].map(|it| (it.locker.clone(), it.locker.clone())).into();
        for (clients, lease) in [(&legacy, lease), (&longer_legacy, longer)] {
            for (client, dialect) in clients.iter().zip(fleet).filter(|(_, dialect)| dialect.refresh != Refresh::Never)
            {
                extensible.push((client.locker.clone(), Arc::new(lock(dialect, lease).refreshing())));
            }
        }
        Ok(Self {
            stamp_of,
            legacy,
            longer_legacy,
            bridge,
            guarded,
            modern,
            extensible,
            patience: fleet.iter().map(|dialect| patience(dialect)).max().unwrap_or(0),
            stolen,
        })
    }

    /// How many seconds to explore at first: until the last of the old clients has taken an expired lock, and until its own
    /// has expired in turn.
    pub(super) fn seconds(&self) -> u16 {
        2 * self.patience
    }

    /// How long a tick is for two clients whose clocks are so far apart: half of that at most, because a client that is ahead may
    /// act between the moment at which it sees a lease end and the one at which it ends.
    pub(super) fn tick(&self, clocks_within: Duration) -> Duration {
        let apart_ms = apart_ms(clocks_within);
        let tick_ms = greatest_common_divisor(HALF_A_SECOND_MS, apart_ms);
        Duration::from_millis(if tick_ms == apart_ms { tick_ms / 2 } else { tick_ms })
    }

    /// The scenes of a phase in which a client crashes, and then all leases expire.
    pub(super) fn scenes_with_a_crash(&self, phase: Phase, effort: &Effort<'_>) -> Vec<Scene> {
        let grain = effort.grain.unwrap_or(Grain::Coarse);
        let mut scenes = Vec::new();
        for group in self.groups(phase) {
            let others = (group[2].protocol != group[0].protocol).then_some(&group[1..]);
            for pair in [&group[..2]].into_iter().chain(others) {
                scenes.push(scene(pair, A_CRASH, grain));
                scenes.extend(self.extending(pair, A_SECOND).map(|pair| scene(&pair, A_CRASH, grain)));
            }
        }
        scenes
    }

    /// The scenes of a phase in which so many seconds pass, in an order that does not change: the small ones first, because the
    /// time may be limited.
    pub(super) fn scenes(&self, phase: Phase, seconds: u16, effort: &Effort<'_>) -> Vec<Scene> {
        let grain = effort.grain.unwrap_or(Grain::Coarse);
        let groups = self.groups(phase);
        let mut scenes = Vec::new();
        for group in &groups {
            scenes.extend(self.pairs(&group[..2], seconds, effort));
            if group[2].protocol != group[0].protocol {
                scenes.extend(self.pairs(&group[1..], seconds, effort));
            }
        }
        for group in &groups {
            scenes.push(scene(group, Bounds::ticks(seconds), grain));
            scenes.extend(self.extending(group, A_SECOND).map(|group| scene(&group, Bounds::ticks(seconds), grain)));
            if phase.follows_legacy() {
                scenes.push(scene_after(group, &self.legacy[0], Bounds::ticks(seconds), grain));
            }
        }
        scenes
    }

    /// These clients, of which those that can extend work for longer, and do, in ticks of this length; `None` if none can.
    fn extending(&self, group: &[Client], tick: Duration) -> Option<Vec<Client>> {
        let ticks = |seconds| ticks_in(seconds, tick);
        let extending = |client: &Client| {
            let (_, locker) = self.extensible.iter().find(|(plain, _)| Arc::ptr_eq(plain, &client.locker))?;
            let (work, renew_after) = (ticks(WORK), Some(ticks(EXTENDED_AFTER)));
            Some(Client { locker: locker.clone(), work, renew_after, ..client.clone() })
        };
        let is_any = group.iter().any(|client| extending(client).is_some());
        is_any.then(|| group.iter().map(|client| extending(client).unwrap_or_else(|| client.clone())).collect())
    }

    /// Two clients, each of which acquires twice, whose clock readings are steps of their own: between whole seconds, with a
    /// lost reply, and each of them ahead of the other.
    fn pairs(&self, pair: &[Client], seconds: u16, effort: &Effort<'_>) -> Vec<Scene> {
        let grain = effort.grain.unwrap_or(Grain::Medium);
        let twice = |client: &Client| Client { rounds: Times::Of(2), ..client.clone() };
        let both_twice: Vec<Client> = pair.iter().map(twice).collect();
        let within = Bounds::ticks(seconds);
        let mut scenes = vec![scene(&both_twice, within, grain)];
        let mut add = |pair: &[Client], bounds: Bounds, tick: Duration| {
            let extending = self.extending(pair, tick);
            for pair in [Some(pair), extending.as_deref()].into_iter().flatten() {
                let mut scene = scene(pair, bounds, grain);
                scene.tick = tick;
                scenes.push(scene);
            }
        };
        add(pair, within.lost_replies(1), A_SECOND);
        let tick = self.tick(effort.clocks_within);
        let ahead_ms = i64::try_from(apart_ms(effort.clocks_within)).unwrap_or(i64::MAX);
        let places: &[usize] = if ahead_ms == 0 { &[0] } else { &[0, 1] };
        for &place in places {
            let mut pair = pair.to_vec();
            pair[place].skew_ms = ahead_ms;
            add(&pair, Bounds::ticks(ticks_in(seconds, tick)), tick);
        }
        scenes
    }

    /// Three clients each: of the old ones any two, so that every pair of dialects meets.
    fn groups(&self, phase: Phase) -> Vec<Vec<Client>> {
        let (bridge, modern) = (&self.bridge, &self.modern);
        let kinds = self.legacy.len();
        let pairs = || (0..kinds).flat_map(|one| (one..kinds).map(move |other| (one, other)));
        // Each two of these, and a third that depends on the first.
        let each_two = |clients: &[Client], third: &dyn Fn(usize) -> Client| -> Vec<Vec<Client>> {
            pairs().map(|(one, other)| vec![clients[one].clone(), clients[other].clone(), third(one)]).collect()
        };
        match phase {
            Phase::Legacy | Phase::LegacyObserved => each_two(&self.legacy, &|place| self.longer_legacy[place].clone()),
            Phase::LegacyAndBridge => each_two(&self.legacy, &|_| self.bridge.clone()),
            Phase::LegacyAndGuard => each_two(&self.legacy, &|place| self.guarded[place].clone()),
            Phase::Guard => each_two(&self.guarded, &|place| self.guarded[place].clone()),
            Phase::GuardAndModern => {
                let mut groups = each_two(&self.guarded, &|_| modern.clone());
                groups.extend(self.guarded.iter().map(|guarded| vec![modern.clone(), modern.clone(), guarded.clone()]));
                groups
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

/// The name of a client of this dialect behind a guard in bridge mode that guards the whole fleet.
pub(super) fn guarded_name(dialect: &Dialect, fleet: &[&'static Dialect]) -> String {
    let others = fleet.iter().map(|other| other.name).filter(|other| *other != dialect.name);
    ModeOfGuard::Bridge.client_of(&std::iter::once(dialect.name).chain(others).collect::<Vec<_>>())
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
