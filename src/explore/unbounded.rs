//! For all time: the clock of a scene that never ends, told from the present.
//!
//! What counts about a moment is how far it lies from others, and beyond some distance, the horizon, not even that. So
//! each world is kept in a form of its own: the present always at one tick, and everything in the past drawn up so that
//! no two neighbouring moments are further apart than the horizon. Distances up to the horizon stay as they are. Then
//! there are finitely many worlds, and a search that has seen them speaks for all time: soundly, if all that protocols
//! and server do with moments is to compare them, with each other or with constants below the horizon.

use std::cell::RefCell;
use std::time::Duration;

use thiserror::Error;

use super::actor::Actor;
use super::direct::Direct;
use super::rewriting::Rewriting;
use super::rules::apply;
use super::scene::Scene;
use super::server_side::ServerSide;
use super::stamps::Stamps;
use super::world::Action;
use crate::wire::{MonoTime, Reading};

/// The present of every world that is kept.
pub(super) const PRESENT: u16 = 10_000;

/// Why nothing can be said of a client for all time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotForAllTime {
    /// What it writes depends on when it does, and not as a stamp does.
    #[error("what client {0} writes does not move with the clock")]
    Unmovable(usize),
    /// It writes of a time so far ahead that the horizon would be too wide.
    #[error("client {0} writes of a time too far ahead")]
    TooFarAhead(usize),
}

/// Moments, in nanoseconds from the beginning, and where each is moved to; in order.
pub(super) type Moves = Vec<(i64, i64)>;

/// Moves the parts of worlds in time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retiming {
    stamps: Stamps,
    tick_ns: i64,
}

impl Retiming {
    pub(super) fn of(scene: &Scene) -> Self {
        let tick_ns = nanos(scene.tick);
        Self {
            stamps: Stamps { begin: scene.begin, reach_ns: tick_ns.saturating_mul(2 * i64::from(PRESENT)) },
            tick_ns,
        }
    }

    /// A tick, as a moment.
    pub(super) fn moment(&self, tick: u16) -> i64 {
        i64::from(tick).saturating_mul(self.tick_ns)
    }

    /// All moments in a client's state, in order.
    pub(super) fn moments_of_actor(&self, actor: &Actor) -> Box<[i64]> {
        self.moments(|rewriting| drop(rewriting.actor(actor)))
    }

    /// All moments on the server's side, in order.
    pub(super) fn moments_of_node(&self, node: &ServerSide) -> Box<[i64]> {
        self.moments(|rewriting| drop(rewriting.node(node)))
    }

    fn moments(&self, visit: impl FnOnce(&Rewriting<'_>)) -> Box<[i64]> {
        let found = RefCell::new(Vec::new());
        let note = |moment: i64| {
            found.borrow_mut().push(moment);
            moment
        };
        self.rewrite(&note, visit);
        let mut found = found.into_inner();
        found.sort_unstable();
        found.dedup();
        found.into()
    }

    /// A client with every moment moved.
    pub(super) fn actor(&self, actor: &Actor, moves: &Moves) -> Actor {
        let mut moved = None;
        self.rewrite(&|moment| destination(moves, moment), |rewriting| moved = Some(rewriting.actor(actor)));
        moved.unwrap_or_else(|| actor.clone())
    }

    /// The server's side with every moment moved.
    pub(super) fn node(&self, node: &ServerSide, moves: &Moves) -> ServerSide {
        let mut moved = None;
        self.rewrite(&|moment| destination(moves, moment), |rewriting| moved = Some(rewriting.node(node)));
        moved.unwrap_or_else(|| node.clone())
    }

    /// Hands out the rewriting that moves every moment.
    fn rewrite(&self, to: &dyn Fn(i64) -> i64, write: impl FnOnce(&Rewriting<'_>)) {
        let begin_ms = self.stamps.begin.as_millis();
        let until = |tick: u16| {
            // A wait that has ended is no wait.
            let moved = if tick == 0 { 0 } else { to(self.moment(tick)) / self.tick_ns };
            u16::try_from(moved).ok().filter(|moved| *moved > PRESENT).unwrap_or(0)
        };
        write(&Rewriting {
            text: &|text| self.stamps.moved(text, to),
            reading: &|reading| moved_reading(reading, to),
            until: &until,
            deadline_ms: &|deadline_ms| {
                let moment = deadline_ms.saturating_sub(begin_ms).saturating_mul(1_000_000);
                deadline_ms.saturating_add((to(moment) - moment) / 1_000_000)
            },
            ..Rewriting::NOTHING
        });
    }

    /// Where each of these moments goes so that `now` becomes the present and no gap in the past is wider than the
    /// horizon; `None` if all is in its place.
    pub(super) fn moves(&self, mut moments: Vec<i64>, now: i64, horizon: u16) -> Option<Moves> {
        let (present, horizon) = (self.moment(PRESENT), self.moment(horizon));
        moments.push(now);
        moments.sort_unstable();
        moments.dedup();
        let mut moves: Moves = moments.iter().map(|moment| (*moment, moment - now + present)).collect();
        let past = moves.partition_point(|(moment, _)| *moment <= now);
        let (mut earlier_by, mut neighbour) = (0, now);
        for (moment, to) in moves[..past].iter_mut().rev() {
            let excess = (neighbour - *moment - horizon).max(0);
            earlier_by += (excess + self.tick_ns - 1) / self.tick_ns * self.tick_ns;
            neighbour = *moment;
            *to += earlier_by;
        }
        moves.iter().any(|(moment, to)| moment != to).then_some(moves)
    }
}

impl Scene {
    /// This scene with a clock that never ends: [`Bounds::ticks`](super::Bounds::ticks) bounds nothing any more, and
    /// what a search finds impossible is so for all time.
    ///
    /// # Errors
    /// [`NotForAllTime`] where a protocol writes something that depends on the clock and does not move with it.
    pub fn for_all_time(mut self) -> Result<Self, NotForAllTime> {
        let farthest = (0..self.clients.len()).try_fold(0, |farthest, place| Ok(self.reach(place)?.max(farthest)))?;
        let skews_ms = self.clients.iter().map(|client| client.skew_ms.unsigned_abs()).max().unwrap_or(0);
        let skews = self.timeline().ticks_of(Duration::from_millis(skews_ms));
        self.horizon = Some(farthest.saturating_add(skews).saturating_add(SLACK));
        Ok(self)
    }

    /// How far ahead a client looks, in ticks.
    fn reach(&self, place: usize) -> Result<u16, NotForAllTime> {
        let client = &self.clients[place];
        let lease = self.timeline().ticks_of(client.locker.lease().length());
        let after_death = self.clone().after_death_of(client, lease.saturating_add(SLACK));
        let mut reach = lease.max(client.work).max(client.pause).max(client.renew_after.unwrap_or(0));
        for scene in [self.clone(), after_death] {
            let ahead = ShiftedRun { scene: &scene, retiming: Retiming::of(&scene), place }.reach()?;
            reach = reach.max(ahead);
        }
        if reach > FARTHEST { Err(NotForAllTime::TooFarAhead(place)) } else { Ok(reach) }
    }
}

/// Ticks by which a protocol may be more or less patient than what it writes shows.
const SLACK: u16 = 2;
/// A wider horizon than this makes too many worlds.
const FARTHEST: u16 = 200;
/// More steps than a round has.
const MOST_STEPS: usize = 64;

/// One client alone, now and a tick later: it must do the same, a tick later.
struct ShiftedRun<'a> {
    scene: &'a Scene,
    retiming: Retiming,
    place: usize,
}

impl ShiftedRun<'_> {
    fn reach(&self) -> Result<u16, NotForAllTime> {
        let (now, later) = (self.play(PRESENT), self.play(PRESENT + 1));
        let tick = self.retiming.moment(1);
        let now_ns = self.retiming.moment(PRESENT);
        let mut reach = 0;
        for ((actor, node), (later_actor, later_node)) in now.iter().zip(&later) {
            let actors = self.retiming.moments_of_actor(later_actor);
            let nodes = self.retiming.moments_of_node(later_node);
            let mut back: Moves = actors.iter().chain(&nodes).map(|moment| (*moment, moment - tick)).collect();
            back.sort_unstable();
            back.dedup();
            let same = self.retiming.actor(later_actor, &back) == self.retiming.actor(actor, &Moves::new())
                && self.retiming.node(later_node, &back) == *node;
            if !same || now.len() != later.len() {
                return Err(NotForAllTime::Unmovable(self.place));
            }
            let farthest = back.last().map_or(0, |(_, moment)| (moment - now_ns).max(0));
            reach = reach.max((farthest + tick - 1) / tick);
        }
        Ok(u16::try_from(reach).unwrap_or(u16::MAX))
    }

    /// The client's states and the server's in one round that begins at this tick.
    fn play(&self, tick: u16) -> Vec<(Actor, ServerSide)> {
        let shift = self.retiming.moment(tick);
        let moments = self.retiming.moments_of_node(&self.scene.start);
        let moves = moments.iter().map(|moment| (*moment, moment + shift)).collect();
        let mut world = self.scene.world();
        world.node = self.retiming.node(&world.node, &moves);
        world.clock.tick = tick;
        let mut played = Vec::new();
        let parts = Direct(self.scene);
        while played.len() < MOST_STEPS && self.scene.client_step(self.place).view(&world.actors[self.place]).at <= tick
        {
            let who = u8::try_from(self.place).unwrap_or(u8::MAX);
            let mut possible = self.scene.actions(&world).into_iter();
            let action = possible.find(|action| action.client() == Some(self.place));
            let Ok(_) = apply(self.scene, &parts, &mut world, action.unwrap_or(Action::Step(who)));
            played.push((world.actors[self.place].clone(), world.node.clone()));
        }
        played
    }
}

fn destination(moves: &Moves, moment: i64) -> i64 {
    moves.binary_search_by_key(&moment, |(from, _)| *from).map_or(moment, |at| moves[at].1)
}

fn moved_reading(reading: Reading, to: &dyn Fn(i64) -> i64) -> Reading {
    let origin = MonoTime::since_origin(Duration::ZERO);
    let moment = nanos(reading.mono.saturating_since(origin));
    let moved = to(moment);
    let wall = crate::wire::UnixTime::from_nanos(reading.wall.as_nanos().saturating_add(moved - moment));
    let since_origin = Duration::from_nanos(u64::try_from(moved).unwrap_or(0));
    Reading { wall, mono: MonoTime::since_origin(since_origin) }
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
