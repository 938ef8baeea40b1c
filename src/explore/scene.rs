//! What is explored: clients, a server, a clock, and how much may go wrong.

use std::time::Duration;

use super::actor::Actor;
use super::client::{Client, Times};
use super::faults::FaultBudget;
use super::server_side::{GuardedResource, ServerSide};
use super::timeline::{Horizon, Timeline, skewed};
use crate::lock::{Owner, Token};
use crate::sim::{Flavour, Server, Session};
use crate::wire::{Command, MonoTime, Procedure, Reading, Reply, Transcript, UnixTime};

/// How finely the clients' steps are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "cli", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Grain {
    /// Reading the clock, sending a command (which the server runs at once) and receiving its reply are three steps: a
    /// reply can be on its way while time passes and others act.
    Fine,
    /// A round trip is one step, with the clock readings after its reply; a clock reading before an operation's first command
    /// is a step of its own, so that a client can be held up between its clock and its command.
    Medium,
    /// A round trip is one step, and so are the clock readings around it. Every schedule found is also one of the fine
    /// grain, in fewer steps; not the other way round.
    Coarse,
}

/// How far the exploration goes, and how much may go wrong on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "cli", derive(serde::Serialize, serde::Deserialize))]
pub struct Bounds {
    /// How often the clock ticks.
    pub ticks: u16,
    /// How many ticks pass at one stroke once the clock has ticked that often, so that every lease and every TTL has
    /// expired; nothing goes wrong after that. `None`: the clock then stands still.
    pub afterwards: Option<u16>,
    /// What may go wrong.
    #[cfg_attr(feature = "cli", serde(flatten))]
    pub faults: FaultBudget,
    /// How many of the last writes the replica of a server may lack.
    pub writes_lost: u8,
}

impl Bounds {
    /// A clock that ticks so often; nothing goes wrong.
    pub const fn ticks(ticks: u16) -> Self {
        Self { ticks, afterwards: None, faults: FaultBudget::NONE, writes_lost: 1 }
    }

    /// The same, and then so many ticks at one stroke.
    #[must_use]
    pub const fn afterwards(self, ticks: u16) -> Self {
        Self { afterwards: Some(ticks), ..self }
    }

    /// The same with so many crashes.
    #[must_use]
    pub const fn crashes(self, crashes: u8) -> Self {
        Self { faults: FaultBudget { crashes, ..self.faults }, ..self }
    }

    /// The same with so many lost replies.
    #[must_use]
    pub const fn lost_replies(self, lost_replies: u8) -> Self {
        Self { faults: FaultBudget { lost_replies, ..self.faults }, ..self }
    }

    /// The same with so many lost requests.
    #[must_use]
    pub const fn lost_requests(self, lost_requests: u8) -> Self {
        Self { faults: FaultBudget { lost_requests, ..self.faults }, ..self }
    }

    /// The same with so many failovers.
    #[must_use]
    pub const fn failovers(self, failovers: u8) -> Self {
        Self { faults: FaultBudget { failovers, ..self.faults }, ..self }
    }

    /// The same with these faults.
    #[must_use]
    pub const fn faults(self, faults: FaultBudget) -> Self {
        Self { faults, ..self }
    }
}

/// What is explored.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The clients, at most 255; a client's place here is its name in actions.
    pub clients: Vec<Client>,
    /// How far.
    pub bounds: Bounds,
    /// How finely.
    pub grain: Grain,
    /// How long a tick is.
    pub tick: Duration,
    /// The server's wall clock at tick 0.
    pub begin: UnixTime,
    /// The server at tick 0, and the guarded resource if there is one.
    pub(super) start: ServerSide,
    /// How moments are distinguished, if the clock never ends.
    pub(super) horizon: Option<Horizon>,
    /// Until which tick the lease of a dead owner runs.
    pub(super) dead_lease_until: u16,
    /// What made the start state, for traces: when (in ticks before 0) and what.
    pub(super) prelude: Vec<(u16, Command, Reply)>,
}

/// The connection over which a start state is made.
const SETUP: Session = Session(u32::MAX);

impl Scene {
    /// No client yet, on an empty server: ticks of a second, fine grain, from a second in November 2023.
    pub fn new(bounds: Bounds) -> Self {
        Self {
            clients: Vec::new(),
            bounds,
            grain: Grain::Fine,
            tick: Duration::from_secs(1),
            begin: UnixTime::from_nanos(1_700_000_000_000_000_000),
            start: ServerSide::new(Server::new(Flavour::Redis70)),
            horizon: None,
            dead_lease_until: 0,
            prelude: Vec::new(),
        }
    }

    /// With one more client.
    #[must_use]
    pub fn client(mut self, client: Client) -> Self {
        self.clients.push(client);
        self
    }

    /// With this grain.
    #[must_use]
    pub fn grain(mut self, grain: Grain) -> Self {
        self.grain = grain;
        self
    }

    /// On this server instead of an empty Redis 7.0.
    #[must_use]
    pub fn server(mut self, server: Server) -> Self {
        self.start.server = server;
        self
    }

    /// With so many independent servers in all, the further ones empty Redis 7.0.
    #[must_use]
    pub fn servers(mut self, servers: u8) -> Self {
        self.start.others = vec![Server::new(Flavour::Redis70); usize::from(servers.saturating_sub(1))];
        self.start.clocks_ahead = vec![0; self.start.others.len() + 1];
        self.start.lagging = vec![Vec::new(); self.start.others.len() + 1];
        self
    }

    /// How many independent servers there are.
    pub(super) fn server_count(&self) -> u8 {
        u8::try_from(self.start.clocks_ahead.len()).unwrap_or(u8::MAX)
    }

    /// With a resource that clients write to while they hold; it can refuse a client that has an older fence.
    #[must_use]
    pub fn guarded(mut self, checks_fence: bool) -> Self {
        self.start.guard = Some(GuardedResource::new(checks_fence));
        self
    }

    /// A command that ran so many ticks before the first.
    #[must_use]
    pub fn after_command(mut self, ticks_ago: u16, command: &Command) -> Self {
        self.run_before(ticks_ago, command);
        self
    }

    /// An owner acquired so many ticks before the first and died: what it wrote is in the key.
    #[must_use]
    pub fn after_death_of(mut self, client: &Client, ticks_ago: u16) -> Self {
        let owner = Owner::new(Token::new([0xde; 16]), 39_999, 1);
        let now = self.timeline().before(ticks_ago);
        let wall = skewed(now, client.skew_ms);
        let clocks = Reading { wall, mono: MonoTime::since_origin(Duration::ZERO) };
        let acquire = |redis: &mut Transcript| client.locker.acquire(&owner, redis);
        // However it ended, what it wrote is there.
        let _outcome = acquire.run_at(clocks, |command| Some(self.run_before(ticks_ago, command)));
        let until = self.timeline().ticks_of(client.locker.lease().length()).saturating_sub(ticks_ago);
        self.dead_lease_until = self.dead_lease_until.max(until);
        self
    }

    /// The servers' clocks at a tick, unless they were set.
    pub fn wall(&self, tick: u16) -> UnixTime {
        self.timeline().wall(tick)
    }

    /// The clock of each server of this side at a tick, by place.
    pub(super) fn walls_of(&self, node: &ServerSide, tick: u16) -> Vec<UnixTime> {
        let (wall, tick_ms) = (self.wall(tick), self.tick_ms());
        node.clocks_ahead.iter().map(|ahead| skewed(wall, i64::from(*ahead).saturating_mul(tick_ms))).collect()
    }

    /// A client's clocks at a tick, unless they were set.
    pub fn reading(&self, who: usize, tick: u16) -> Reading {
        self.timeline().reading(tick, self.clients[who].skew_ms)
    }

    /// The clocks of the client at this place at a tick.
    pub(super) fn reading_of(&self, who: usize, actor: &Actor, tick: u16) -> Reading {
        self.timeline().reading(tick, actor.skew_ms(&self.clients[who], self.tick_ms()))
    }

    fn tick_ms(&self) -> i64 {
        i64::try_from(self.tick.as_millis()).unwrap_or(i64::MAX)
    }

    /// How ticks are moments here.
    pub(super) fn timeline(&self) -> Timeline {
        Timeline { tick: self.tick, begin: self.begin }
    }

    /// Whether the clock has leapt over the rest of time.
    pub(super) fn has_leapt(&self, tick: u16) -> bool {
        self.horizon.is_none() && tick > self.bounds.ticks
    }

    /// Whether a lock from before the start cannot be distinguished from a phantom: all moments are relative to the present.
    pub(super) fn forgets_when_it_began(&self) -> bool {
        self.horizon.is_some() && self.dead_lease_until > 0
    }

    /// Whether every lease expires some time, and some client tries until then.
    pub(super) fn has_a_future(&self) -> bool {
        (self.horizon.is_some() || self.bounds.afterwards.is_some())
            && self.clients.iter().any(|client| client.tries == Times::Forever)
    }

    /// Runs a command before the first, and notes it.
    fn run_before(&mut self, ticks_ago: u16, command: &Command) -> Reply {
        let now = self.timeline().before(ticks_ago);
        let walls = vec![now; self.start.clocks_ahead.len()];
        let reply = self.start.call(SETUP, command, &walls);
        self.start.servers().for_each(|server| server.disconnect(SETUP));
        self.prelude.push((ticks_ago, command.clone(), reply.clone()));
        reply
    }
}
