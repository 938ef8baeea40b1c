//! Fleets at random, and what truly happened in them: who won what, when, and what went wrong.

use std::sync::Arc;
use std::time::Duration;

use lockshift::explore::{Action, Actor, Bounds, Client, Content, Doing, Grain, Property, Scene, Step, Times, World};
use lockshift::legacy::{Candidate, Claim, Dialect, Lifetime, Moment, Release, Takeover};
use lockshift::lock::{Hold, Lease, Locker};
use lockshift::protocols::{self, Choice};
use lockshift::race_id::RaceId;
use lockshift::wire::{MonoTime, Reply};
use proptest::prelude::*;

use super::written::monitored;

/// What truly happened.
#[derive(Clone, Debug, Default)]
pub(super) struct Truth {
    /// Every acquisition of which its client knows.
    pub(super) holds: Vec<Held>,
    /// How many were in the middle of a try at the end, or died there: they may have won and not know it.
    pub(super) open: u64,
    /// A client won while the lease of another one was running; the dead still hold.
    pub(super) double: bool,
    /// A client deleted, or shortened, what another one held.
    pub(super) robbed: bool,
    /// A client wrote over the key and did not win by it.
    pub(super) overwrote: bool,
    /// A client changed what another one had written that was still in the middle of its try, or whose lease had expired and
    /// whose stamp was not.
    pub(super) hurried: bool,
    /// A client used its lock when its lease had expired.
    pub(super) late: bool,
    /// How many replies were lost.
    pub(super) unheard: u64,
    /// Whether there are clients that take a lock without a command that could be seen, by one that could be anything, or
    /// for it is unknown how long.
    pub(super) is_hidden: bool,
    /// The races that a client of this fleet runs into by itself.
    pub(super) inherent: Vec<RaceId>,
}

/// One acquisition. Moments are ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) who: usize,
    pub(super) asked: u16,
    pub(super) won: u16,
    /// The first tick at which the lease has expired.
    pub(super) ends: u16,
    pub(super) released: ReleasedBy,
}

/// How a hold ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReleasedBy {
    /// Not at all: its owner works, or is dead, or in the middle of it.
    No,
    /// Without a word.
    Silently,
    /// With commands, the first at this tick and the last at that.
    Between(u16, u16),
}

/// Clients, and how much may go wrong.
#[derive(Clone, Debug)]
pub(super) struct Fleet {
    pub(super) protocols: Vec<&'static str>,
    /// Whether they do at once what they can do.
    pub(super) prompt: bool,
    pub(super) renews: bool,
    pub(super) lost_replies: u8,
}

impl Fleet {
    /// Three clients of one protocol.
    pub(super) fn of(protocol: &'static str) -> Self {
        Self { protocols: vec![protocol; 3], prompt: false, renews: false, lost_replies: 0 }
    }

    pub(super) fn prompt(self) -> Self {
        Self { prompt: true, ..self }
    }

    fn scene(&self) -> Scene {
        let bounds = Bounds::ticks(12).crashes(1).lost_replies(self.lost_replies);
        self.protocols.iter().fold(Scene::new(bounds).grain(Grain::Coarse), |scene, protocol| {
            let choice: Choice = protocol.parse().unwrap();
            let locker: Arc<dyn Locker> = choice.locker("lock".into(), Lease::new(Duration::from_secs(2)).unwrap());
            let client = Client { prompt: self.prompt, rounds: Times::Of(3), ..Client::new(*protocol, locker) };
            scene.client(if self.renews { Client { work: 2, renew_after: Some(1), ..client } } else { client })
        })
    }

    /// Lets happen what can of these wishes: the trace, and the truth.
    pub(super) fn play(&self, wishes: &[Action]) -> (String, Truth) {
        let scene = self.scene();
        let (mut worlds, mut happened) = (vec![scene.world()], Vec::new());
        for &wish in wishes {
            let world = worlds.last().unwrap();
            if scene.actions(world).contains(&wish) {
                worlds.push(scene.apply(world, wish));
                happened.push(wish);
            }
        }
        let trace = scene.narrate(Property::MutualExclusion, &happened);
        let mut watch = Watch::new(scene.clients.len());
        for (step, worlds) in trace.steps.iter().zip(worlds.windows(2)) {
            watch.step(step, &worlds[0], &worlds[1], &scene);
        }
        watch.finish(worlds.last().unwrap());
        let rows = self.protocols.iter().filter_map(|protocol| protocols::find(protocol).ok()?.dialect());
        // A stamp of the moment of acquisition does not say for how long the lock was acquired.
        let is_hidden = |row: &Dialect| {
            matches!(row.takeover, Takeover::WithoutWriting | Takeover::Setex)
                || row.form.stamp.moment == Moment::Acquisition && !gives_life(row)
        };
        watch.truth.is_hidden = rows.into_iter().any(is_hidden);
        watch.truth.inherent = self.protocols.iter().flat_map(|protocol| inherent(protocol)).collect();
        (monitored(&trace), watch.truth)
    }
}

/// What clients may do, in bursts.
pub(super) fn wishes() -> impl Strategy<Value = Vec<Action>> {
    let who = || 0..3_u8;
    let wish = prop_oneof![
        20 => who().prop_map(Action::Step),
        5 => Just(Action::Tick),
        1 => who().prop_map(Action::Crash),
        1 => who().prop_map(Action::LoseReply),
    ];
    prop::collection::vec((wish, 1..=3_usize), 0..60)
        .prop_map(|bursts| bursts.into_iter().flat_map(|(wish, times)| vec![wish; times]).collect())
}

/// Sees everything.
struct Watch {
    truth: Truth,
    /// When each client began what it is at.
    begun: Vec<u16>,
    /// Whether each has sent a command since.
    has_sent: Vec<bool>,
    /// The hold of each client, dead or alive: its place among all, as long as it was not released.
    held: Vec<Option<usize>>,
    /// Whether each has deleted its own lock in the release that it is at. Nobody holds that lock any more, though a command
    /// may follow, as UNWATCH follows the DEL of redis-py 2.10, or never come.
    has_deleted: Vec<bool>,
    /// Who has written what stands in the key.
    written: Option<usize>,
    /// Whether each has written over the key in the try that it is at.
    overwrites: Vec<bool>,
}

impl Watch {
    fn new(clients: usize) -> Self {
        let no = vec![false; clients];
        Self {
            truth: Truth::default(),
            begun: vec![0; clients],
            has_sent: no.clone(),
            held: vec![None; clients],
            has_deleted: no.clone(),
            written: None,
            overwrites: no,
        }
    }

    fn step(&mut self, step: &Step, before: &World, after: &World, scene: &Scene) {
        let Some(who) = step.actor else { return };
        let tick = after.clock.tick;
        let (was, is) = (&before.actors[who], &after.actors[who]);
        self.truth.unheard += u64::from(matches!(step.action, Action::LoseReply(_)));
        if began(was) {
            (self.begun[who], self.has_sent[who]) = (tick, false);
        }
        // TIME concerns no key.
        self.has_sent[who] |= step.exchange.as_ref().is_some_and(|it| !it.command.is("TIME"));
        self.harm(step, who, tick, before);
        let begins = matches!(was.doing, Doing::Resting { .. });
        self.overwrites[who] |=
            (begins || asks(was)) && step.exchange.as_ref().is_some_and(|it| it.command.is("GETSET"));
        if self.overwrites[who] && !matches!(is.doing, Doing::Acquiring(_)) {
            self.truth.overwrote |= is.hold().is_none();
            self.overwrites[who] = false;
        }
        if matches!(is.doing, Doing::Crashed) {
            self.truth.open += u64::from(matches!(was.doing, Doing::Acquiring(_)));
            return;
        }
        if was.hold().is_none()
            && let Some(hold) = is.hold()
        {
            let ends = ends(scene, who, hold);
            let is_second = self.others(who).any(|other| self.truth.holds[other].ends > tick);
            self.truth.double |= is_second && ends > tick;
            self.held[who] = Some(self.truth.holds.len());
            self.has_deleted[who] = false;
            let released = ReleasedBy::No;
            self.truth.holds.push(Held { who, asked: self.begun[who], won: tick, ends, released });
        } else if let (Some(hold), Some(held)) = (is.hold(), self.held[who]) {
            self.truth.holds[held].ends = ends(scene, who, hold);
        }
        let had = was.hold().or(was.releasing()).is_some();
        if let (true, None, Some(held)) = (had, is.hold().or(is.releasing()), self.held[who]) {
            self.held[who] = None;
            let sent = ReleasedBy::Between(self.begun[who], tick);
            self.truth.holds[held].released = if extends(scene, who, was) {
                // It has learned that its lock is lost, and goes on without it.
                ReleasedBy::No
            } else if self.has_sent[who] {
                sent
            } else {
                ReleasedBy::Silently
            };
        }
    }

    /// What a command does to others.
    fn harm(&mut self, step: &Step, who: usize, tick: u16, before: &World) {
        let Some(exchange) = &step.exchange else { return };
        let (old, new) = (&step.before.keys[0], &step.after.keys[0]);
        let victim = self.written.filter(|writer| *writer != who).and_then(|writer| self.held[writer]);
        let ends = victim.map_or(0, |victim| self.truth.holds[victim].ends);
        let left_ms = 1000 * u64::from(ends.saturating_sub(tick));
        let life_ms = |it: &Content| it.ttl_ms.unwrap_or(u64::MAX);
        let is_cut = old.is_some() && new.as_ref().is_none_or(|new| life_ms(new) < left_ms);
        self.truth.robbed |= ends > tick && is_cut;
        // A stamp may have a margin beyond the lease, or be none.
        let stands = ends.saturating_add(2) > tick || old.as_ref().is_some_and(|old| !old.value.contains("17000000"));
        let is_asked_for = self.written.is_some_and(|it| it != who && asks(&before.actors[it]));
        let writes = ["SETNX", "SET", "SETEX", "GETSET"].iter().any(|name| exchange.command.is(name));
        let is_no = exchange.reply == Reply::Int(0) || exchange.reply == Reply::Nil && !exchange.command.is("GETSET");
        let touches = old != new || writes && !is_no;
        self.truth.hurried |= touches && (victim.is_some() && stands || is_asked_for);
        self.truth.late |= self.held[who].is_some_and(|held| self.truth.holds[held].ends <= tick);
        let releases = before.actors[who].releasing().is_some() && self.written == Some(who);
        self.has_deleted[who] |= releases && old.is_some() && new.is_none();
        let is_changed = old.as_ref().map(|it| &it.value) != new.as_ref().map(|it| &it.value);
        if is_changed || writes && !is_no {
            self.written = new.as_ref().map(|_| who);
        }
    }

    /// The holds of the other clients.
    fn others(&self, who: usize) -> impl Iterator<Item = usize> {
        let held = self.held.iter().zip(&self.has_deleted).enumerate();
        held.filter(move |(other, (_, has_deleted))| *other != who && !**has_deleted).filter_map(|(_, (held, _))| *held)
    }

    fn finish(&mut self, world: &World) {
        self.truth.open +=
            world.actors.iter().filter(|actor| asks(actor) && !matches!(actor.doing, Doing::Crashed)).count() as u64;
        self.truth.overwrote |= self.overwrites.contains(&true);
    }
}

/// Whether a client is in the middle of a try; the dead may be.
fn asks(actor: &Actor) -> bool {
    matches!(actor.doing, Doing::Acquiring(_) | Doing::Disclaiming(_) | Doing::Crashed)
}

/// Whether a client is between two operations.
fn began(actor: &Actor) -> bool {
    actor.operation().is_none()
}

/// Whether a holder extends its lock, or is about to.
fn extends(scene: &Scene, who: usize, actor: &Actor) -> bool {
    match (&actor.doing, scene.clients[who].renew_after) {
        (Doing::Extending(..), _) => true,
        (Doing::Holding(hold, work), Some(after)) => {
            let since = hold.since.mono.saturating_since(MonoTime::since_origin(Duration::ZERO));
            since + scene.tick * u32::from(after) < scene.tick * u32::from(work.until)
        }
        _ => false,
    }
}

/// The first tick at which a lease has expired; a lock without any is never over.
fn ends(scene: &Scene, who: usize, hold: &Hold) -> u16 {
    let protocol = protocols::find(&scene.clients[who].protocol).ok();
    if protocol.and_then(protocols::Protocol::dialect).is_some_and(is_endless) {
        return u16::MAX;
    }
    let origin = MonoTime::since_origin(Duration::ZERO);
    let ends = hold.since.mono.saturating_since(origin) + hold.lease.length();
    u16::try_from(ends.as_nanos().div_ceil(scene.tick.as_nanos())).unwrap()
}

/// Whether its locks have neither stamp nor time to live.
fn is_endless(dialect: &Dialect) -> bool {
    !dialect.form.is_stamped() && !gives_life(dialect)
}

/// Whether its keys have a time to live.
fn gives_life(dialect: &Dialect) -> bool {
    !matches!(dialect.claim, Claim::Setnx | Claim::ExistsThenSet | Claim::None) || dialect.ttl.is_set()
}

/// The races that a client runs into with no other client about.
fn inherent(protocol: &str) -> Vec<RaceId> {
    let Some(dialect) = protocols::find(protocol).ok().and_then(protocols::Protocol::dialect) else {
        return Vec::new();
    };
    let ttl = dialect.ttl;
    let by_moment = [ttl.claimed, ttl.taken, ttl.refused].contains(&Lifetime::ExpireByMoment);
    let misses_key = dialect.release == Release::DelSerializedKey;
    let writes_back = dialect.candidate == Candidate::AsRead;
    let races = [
        (by_moment, RaceId::AbsoluteExpire),
        (misses_key, RaceId::ReleaseMissesKey),
        (writes_back, RaceId::StampWrittenBack),
    ];
    races.into_iter().filter(|(has, _)| *has).map(|(_, race)| race).collect()
}
