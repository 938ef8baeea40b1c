//! For all time: a clock that never ends, whose moments are stored relative to the present.
//!
//! What counts about a moment is how far it lies from others, and beyond some distance, the horizon, not even that. So
//! each world is kept in a form of its own: the present always at the same tick, and everything in the past drawn up so that
//! no two neighbouring moments are further apart than the horizon. Distances up to the horizon stay as they are. Then
//! there are finitely many worlds, and a search that has seen them speaks for all time: soundly, if all that protocols
//! and server do with moments is to compare them, with each other or with constants below the horizon.
//!
//! The horizon is as far as a client looks ahead in what it writes, its skew and two periods for its rounding and strict comparisons;
//! or, if that is more, as long as a client, alone, changes what it does about the lock of a dead one. Both are found by
//! running each client alone. That what clients do among others moves with the clock is a test of the whole catalogue
//! (`tests/it/explore/for_all_time.rs`), not of every search: a protocol of your own that does something else only where
//! another client holds is not noticed.
//!
//! A protocol that rounds its clock, as most stamps do, also depends on where in a second a moment lies. Its worlds are moved
//! by whole seconds only, so that each moment keeps its fraction: the *period* of the scene is a second then, and a tick
//! otherwise. Whether a protocol rounds is found by running it alone at every tick of a second and comparing.
//!
//! The places of a queue, which are the scores of a sorted set that are no moments, are counted from the first one: the next
//! place follows from the last, and only their order is asked for. Otherwise a queue that is never empty would count on for ever.
//!
//! Time passes in ticks all the same: what is proved is proved for all schedules whose moments lie on ticks. A schedule in
//! real time is one of those if the moments at which anything happens have at most as many different fractions of a second
//! as there are ticks in one, the turn of the second counted. For its moments are compared only with each other plus whole
//! seconds, before or after rounding, so it does not matter where its fractions lie, only in which order: the first can be
//! put on the first tick of the second, the next on the next.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use thiserror::Error;

use super::actor::Actor;
use super::direct::Direct;
use super::parts::Activity;
use super::rewriting::Rewriting;
use super::rules::apply;
use super::scene::Scene;
use super::server_side::ServerSide;
use super::stamps::Stamps;
use super::timeline::Horizon;
use super::world::{Action, World};
use crate::wire::{MonoTime, Reading};

/// The present of every world that is kept, but for where it lies in a period. Of each period that there is a multiple.
pub(super) const PRESENT: u16 = 10_000;

/// Why a client cannot be explored for all time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotForAllTime {
    /// What it writes depends on when it does, and not as a stamp does.
    #[error("what client {0} writes does not move with the clock")]
    Unmovable(usize),
    /// It writes of a time so far ahead, or waits for a dead client's lock for so long, that the horizon would be too wide.
    #[error("client {0} looks at times too far apart")]
    TooFarAhead(usize),
    /// Its skew or its lease is not a multiple of a tick.
    #[error("the skew or the lease of client {0} is not a multiple of a tick")]
    OffGrid(usize),
}

/// Moments, in nanoseconds from the beginning, and where each is moved to; in order.
pub(super) type Moves = Vec<(i64, i64)>;

/// Moves the parts of worlds in time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retiming {
    stamps: Stamps,
    tick_ns: i64,
    period_ns: i64,
}

impl Retiming {
    pub(super) fn of(scene: &Scene) -> Self {
        let tick_ns = nanos(scene.tick);
        Self {
            period_ns: tick_ns.saturating_mul(scene.horizon.map_or(1, |horizon| horizon.period.into())),
            stamps: Stamps { begin: scene.begin, reach_ns: tick_ns.saturating_mul(2 * i64::from(PRESENT)) },
            tick_ns,
        }
    }

    /// Which numbers are moments.
    pub(super) fn stamps(&self) -> Stamps {
        self.stamps
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

    /// The moments in what is stored on the server's side, deadlines left aside, in order.
    fn stamps_of_node(&self, node: &ServerSide) -> Box<[i64]> {
        let found = RefCell::new(Vec::new());
        let note = |moment: i64| {
            found.borrow_mut().push(moment);
            moment
        };
        let text = |text: &[u8]| self.stamps.moved(text, &note);
        drop(Rewriting { text: &text, ..Rewriting::NOTHING }.node(node));
        found.into_inner().into()
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
            number: &|number| self.stamps.moved_number(number, to),
            // What is forgotten lies in no time of the scene.
            reading: &|reading| if self.stamps.has(reading.wall) { moved_reading(reading, to) } else { reading },
            until: &until,
            deadline_ms: &|deadline_ms| {
                let moment = deadline_ms.saturating_sub(begin_ms).saturating_mul(1_000_000);
                deadline_ms.saturating_add((to(moment) - moment) / 1_000_000)
            },
            scores: &|scores| {
                if !self.moves_scores(scores, to) {
                    count_from_first(scores);
                }
            },
            ..Rewriting::NOTHING
        });
    }

    /// Moves those of the scores that are moments: whether there is one.
    fn moves_scores(&self, scores: &mut [f64], to: &dyn Fn(i64) -> i64) -> bool {
        let mut has_moment = false;
        for score in scores {
            let written = score.to_string();
            let is_moment = Cell::new(false);
            let moved = self.stamps.moved(written.as_bytes(), &|moment| {
                is_moment.set(true);
                to(moment)
            });
            has_moment |= is_moment.get();
            *score = std::str::from_utf8(&moved).ok().and_then(|moved| moved.parse().ok()).unwrap_or(*score);
        }
        has_moment
    }

    /// Whether the places of every queue on the server's side are counted from the first.
    pub(super) fn counts_from_first(&self, node: &ServerSide) -> bool {
        let counts = Cell::new(true);
        let scores = |scores: &mut [f64]| {
            let before = scores.to_vec();
            if !self.moves_scores(scores, &|moment| moment) {
                count_from_first(scores);
            }
            counts.set(counts.get() && before == scores);
        };
        drop(Rewriting { scores: &scores, ..Rewriting::NOTHING }.node(node));
        counts.get()
    }

    /// Where each of these moments goes so that `now` becomes the present and no gap in the past is wider than the
    /// horizon, each by whole periods; `None` if all is in its place.
    pub(super) fn moves(&self, mut moments: Vec<i64>, now: i64, horizon: u16) -> Option<Moves> {
        let (present, horizon) = (self.moment(PRESENT) + now.rem_euclid(self.period_ns), self.moment(horizon));
        moments.push(now);
        moments.sort_unstable();
        moments.dedup();
        let mut moves: Moves = moments.iter().map(|moment| (*moment, moment - now + present)).collect();
        let past = moves.partition_point(|(moment, _)| *moment <= now);
        let (mut earlier_by, mut neighbour) = (0, now);
        for (moment, to) in moves[..past].iter_mut().rev() {
            let excess = (neighbour - *moment - horizon).max(0);
            earlier_by += (excess + self.period_ns - 1) / self.period_ns * self.period_ns;
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
    /// [`NotForAllTime`] where a protocol writes something that depends on the clock and does not move with it, or a tick
    /// does not fit.
    pub fn for_all_time(mut self) -> Result<Self, NotForAllTime> {
        if let Some(place) = self.off_grid() {
            return Err(NotForAllTime::OffGrid(place));
        }
        let period = if self.rounds_its_clock()? { self.ticks_of_a_second() } else { 1 };
        self.horizon = Some(Horizon { ticks: 0, period });
        let farthest = (0..self.clients.len()).try_fold(0, |farthest, place| Ok(self.reach(place)?.max(farthest)))?;
        let skews_ms = self.clients.iter().map(|client| client.skew_ms.unsigned_abs()).max().unwrap_or(0);
        let skews = self.timeline().ticks_of(Duration::from_millis(skews_ms));
        let shown = farthest.saturating_add(skews).saturating_add(SLACK.saturating_mul(period));
        let patience = (0..self.clients.len()).try_fold(0, |most, place| Ok(self.patience(place)?.max(most)))?;
        self.horizon = Some(Horizon { ticks: shown.max(patience.saturating_add(period)), period });
        Ok(self)
    }

    /// Whether what some client writes or does depends on where in a second it begins, as far as ticks tell.
    ///
    /// # Errors
    /// [`NotForAllTime`] where it depends on the clock in another way.
    fn rounds_its_clock(&self) -> Result<bool, NotForAllTime> {
        let mut rounds = false;
        for place in 0..self.clients.len() {
            let moves_by = |period| self.runs(place).all(|run| run.moves_by(period));
            rounds |= match (moves_by(1), moves_by(self.ticks_of_a_second())) {
                (true, _) => false,
                (false, true) => true,
                (false, false) => return Err(NotForAllTime::Unmovable(place)),
            };
        }
        Ok(rounds)
    }

    /// The ticks of a second; 1 where a tick is longer, or a second no multiple of it.
    fn ticks_of_a_second(&self) -> u16 {
        let (second, tick) = (1_000_000_000, self.tick.as_nanos().max(1));
        match u16::try_from(second / tick) {
            Ok(ticks) if second % tick == 0 && PRESENT.is_multiple_of(ticks) => ticks,
            Ok(_) | Err(_) => 1,
        }
    }

    /// Whether what some client writes, alone, has a moment of its own clock in it.
    pub(super) fn writes_stamps(&self, place: usize) -> bool {
        self.runs(place).next().is_some_and(|run| run.writes_stamps())
    }

    /// The first client whose skew or lease does not end on a tick.
    fn off_grid(&self) -> Option<usize> {
        let tick_ns = self.tick.as_nanos().max(1);
        let fits = |length: Duration| length.as_nanos().is_multiple_of(tick_ns);
        let reads_stamps = (0..self.clients.len()).any(|place| self.writes_stamps(place));
        let is_off = |place: &usize| {
            let client = &self.clients[*place];
            reads_stamps && !fits(Duration::from_millis(client.skew_ms.unsigned_abs()))
                || !fits(client.locker.lease().length())
        };
        (0..self.clients.len()).find(is_off)
    }

    /// How far ahead a client looks, in ticks.
    fn reach(&self, place: usize) -> Result<u16, NotForAllTime> {
        let client = &self.clients[place];
        let lease = self.timeline().ticks_of(client.locker.lease().length());
        let least = lease.max(client.work).max(client.pause).max(client.renew_after.unwrap_or(0));
        let reach = self.runs(place).map(|run| run.reach()).fold(least, u16::max);
        let farthest = FARTHEST.saturating_mul(self.ticks_of_a_second());
        if reach > farthest { Err(NotForAllTime::TooFarAhead(place)) } else { Ok(reach) }
    }

    /// How old a dead client's lock is, in ticks, when what this client does about it changes for the last time: its tolerance is
    /// in nothing that it writes.
    fn patience(&self, place: usize) -> Result<u16, NotForAllTime> {
        let second = self.ticks_of_a_second();
        let mut patience = 0;
        for owner in self.protocols() {
            let after = |seconds: u16| {
                let scene = self.clone().after_death_of(&self.clients[owner], seconds.saturating_mul(second));
                LoneRun { scene, place, phase: 0 }.activities()
            };
            let does: Vec<_> = (0..=FARTHEST).map(after).collect();
            let still_changes = does.windows(2).rposition(|pair| pair[0] != pair[1]);
            let until = still_changes.map_or(0, |seconds| u16::try_from(seconds + 1).unwrap_or(FARTHEST));
            patience = patience.max(until.saturating_mul(second));
        }
        if patience >= FARTHEST.saturating_mul(second) { Err(NotForAllTime::TooFarAhead(place)) } else { Ok(patience) }
    }

    /// The client alone, on the server as it is at the start and on one whose owner has died, at each tick of a second.
    pub(super) fn runs(&self, place: usize) -> impl Iterator<Item = LoneRun> {
        let client = &self.clients[place];
        let lease = self.timeline().ticks_of(client.locker.lease().length());
        let after_death = self.clone().after_death_of(client, lease.saturating_add(SLACK * self.ticks_of_a_second()));
        let phases = 0..self.ticks_of_a_second();
        let runs = move |scene: Self| phases.clone().map(move |phase| LoneRun { scene: scene.clone(), place, phase });
        [self.clone(), after_death].into_iter().flat_map(runs)
    }
}

/// Counts the places of a queue from 1.
fn count_from_first(scores: &mut [f64]) {
    let Some(first) = scores.first().copied().filter(|first| *first >= 1.0 && first.fract() == 0.0) else { return };
    scores.iter_mut().for_each(|score| *score -= first - 1.0);
}

/// Periods by which a protocol may round what it writes, or compare strictly. A tolerance is found out by its patience.
const SLACK: u16 = 2;
/// A horizon of more seconds than this, or of more ticks where a tick is longer, makes too many worlds.
const FARTHEST: u16 = 200;
/// More steps than a round has.
const MOST_STEPS: usize = 64;

/// One client alone, beginning at this tick of a second.
pub(super) struct LoneRun {
    scene: Scene,
    place: usize,
    phase: u16,
}

impl LoneRun {
    /// The servers on which the client at this place has begun at a tick, after each of its steps. What they held at the start
    /// lies as far back as at the start, if the clock never ends.
    pub(super) fn servers_of(scene: &Scene, place: usize, tick: u16) -> impl Iterator<Item = ServerSide> {
        let run = Self { scene: scene.clone(), place, phase: 0 };
        let played = if scene.horizon.is_some() { run.play(tick) } else { run.play_on(scene.world(), tick) };
        played.into_iter().map(|(_, node)| node)
    }

    /// At which tick of a second it begins.
    pub(super) fn phase(&self) -> u16 {
        self.phase
    }

    /// Whether a moment is in what it has written, deadlines left aside.
    fn writes_stamps(&self) -> bool {
        let retiming = Retiming::of(&self.scene);
        let has_stamp = |node: &ServerSide| !retiming.stamps_of_node(node).is_empty();
        self.play(PRESENT + self.phase).iter().any(|(_, node)| has_stamp(node))
    }

    /// What it does, step by step.
    fn activities(&self) -> Vec<Activity> {
        let client = self.scene.client_step(self.place);
        self.play(PRESENT).iter().map(|(actor, _)| client.view(actor).activity).collect()
    }

    /// Whether it does the same so many ticks later, everything moved by as much.
    pub(super) fn moves_by(&self, ticks: u16) -> bool {
        let retiming = Retiming::of(&self.scene);
        let begin = PRESENT + self.phase;
        let (now, later) = (self.play(begin), self.play(begin + ticks));
        now.len() == later.len()
            && now.iter().zip(&later).all(|((actor, node), (later_actor, later_node))| {
                let (actors, nodes) = (retiming.moments_of_actor(later_actor), retiming.moments_of_node(later_node));
                let mut back: Moves =
                    actors.iter().chain(&nodes).map(|moment| (*moment, moment - retiming.moment(ticks))).collect();
                back.sort_unstable();
                back.dedup();
                retiming.actor(later_actor, &back) == retiming.actor(actor, &Moves::new())
                    && retiming.node(later_node, &back) == *node
            })
    }

    /// How many ticks ahead it looks.
    fn reach(&self) -> u16 {
        let retiming = Retiming::of(&self.scene);
        let begin = PRESENT + self.phase;
        let moments = self.play(begin).into_iter().flat_map(|(actor, node)| {
            [retiming.moments_of_actor(&actor), retiming.moments_of_node(&node)].into_iter().flatten()
        });
        let farthest = moments.max().map_or(0, |moment| (moment - retiming.moment(begin)).max(0));
        u16::try_from((farthest + retiming.tick_ns - 1) / retiming.tick_ns).unwrap_or(u16::MAX)
    }

    /// The client's states and the server's in one round that begins at this tick.
    fn play(&self, tick: u16) -> Vec<(Actor, ServerSide)> {
        let retiming = Retiming::of(&self.scene);
        let shift = retiming.moment(tick);
        let moments = retiming.moments_of_node(&self.scene.start);
        let moves = moments.iter().map(|moment| (*moment, moment + shift)).collect();
        let mut world = self.scene.world();
        world.node = retiming.node(&world.node, &moves);
        self.play_on(world, tick)
    }

    /// The same in this world.
    fn play_on(&self, mut world: World, tick: u16) -> Vec<(Actor, ServerSide)> {
        world.clock.tick = tick;
        let mut played = Vec::new();
        let parts = Direct(&self.scene);
        while played.len() < MOST_STEPS && self.scene.client_step(self.place).view(&world.actors[self.place]).at <= tick
        {
            let who = u8::try_from(self.place).unwrap_or(u8::MAX);
            let mut possible = self.scene.actions(&world).into_iter();
            let action = possible.find(|action| action.client() == Some(self.place));
            let Ok(_) = apply(&self.scene, &parts, &mut world, action.unwrap_or(Action::Step(who)));
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
