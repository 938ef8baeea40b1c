//! What is explored: clients, a server, a clock, and how much may go wrong.

use std::time::Duration;

use super::client::{Client, Times};
use super::node::{Guard, Node};
use crate::lock::{Lease, Owner, Token};
use crate::sim::{Flavour, Server, Session};
use crate::wire::{Command, MonoTime, Procedure, Reading, Reply, Transcript, UnixTime};

/// How finely the clients' steps are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "cli", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Grain {
    /// Reading the clock, sending a command (which the server runs at once) and receiving its reply are three steps: a
    /// reply can be on its way while time passes and others act.
    Fine,
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
    /// How many ticks pass at one stroke once the clock has ticked that often, so that every lease and every TTL is
    /// over; nothing goes wrong after that. `None`: the clock then stands still.
    pub afterwards: Option<u16>,
    /// How many clients may crash.
    pub crashes: u8,
    /// How many replies may be lost after the command ran.
    pub lost_replies: u8,
    /// How often the server may be replaced by its replica.
    pub failovers: u8,
    /// How many of the last writes the replica may lack.
    pub writes_lost: u8,
}

impl Bounds {
    /// A clock that ticks so often; nothing goes wrong.
    pub const fn ticks(ticks: u16) -> Self {
        Self { ticks, afterwards: None, crashes: 0, lost_replies: 0, failovers: 0, writes_lost: 1 }
    }
}

/// What is explored.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Who takes part, at most 255; a client's place here is its name in actions.
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
    pub(super) start: Node,
    /// Beyond how many ticks moments need not be told apart, if the clock never ends.
    pub(super) horizon: Option<u16>,
    /// Until which tick the lock that a dead owner left behind is its own.
    pub(super) left_behind_until: u16,
    /// What made the start state, for traces: when (in ticks before 0) and what.
    pub(super) prelude: Vec<(u16, Command, Reply)>,
}

/// The connection over which a start state is made.
const STAGEHAND: Session = Session(u32::MAX);

impl Scene {
    /// Nobody yet, on an empty server: ticks of a second, fine grain, from a second in November 2023.
    pub fn new(bounds: Bounds) -> Self {
        Self {
            clients: Vec::new(),
            bounds,
            grain: Grain::Fine,
            tick: Duration::from_secs(1),
            begin: UnixTime::from_nanos(1_700_000_000_000_000_000),
            start: Node::new(Server::new(Flavour::Redis70)),
            horizon: None,
            left_behind_until: 0,
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
        self
    }

    /// With a resource that clients write to while they hold; it can refuse whoever comes with an older fence.
    #[must_use]
    pub fn guarded(mut self, checks_fence: bool) -> Self {
        self.start.guard = Some(Guard::new(checks_fence));
        self
    }

    /// A command that ran so many ticks before the first.
    #[must_use]
    pub fn after_command(mut self, ticks_ago: u16, command: &Command) -> Self {
        self.stage(ticks_ago, command);
        self
    }

    /// An owner acquired so many ticks before the first and died: what it wrote is in the key.
    #[must_use]
    pub fn after_death_of(mut self, client: &Client, ticks_ago: u16) -> Self {
        let owner = Owner::new(Token::new([0xde; 16]), 39_999, 1);
        let now = self.before(ticks_ago);
        let wall = self.skewed(now, client.skew);
        let clocks = Reading { wall, mono: MonoTime::since_origin(Duration::ZERO) };
        let acquire = |redis: &mut Transcript| client.locker.acquire(&owner, redis);
        // Whatever became of it, what it wrote is there.
        let _outcome = acquire.run_at(clocks, |command| Some(self.stage(ticks_ago, command)));
        let until = self.ticks_of(client.locker.lease().length()).saturating_sub(ticks_ago);
        self.left_behind_until = self.left_behind_until.max(until);
        self
    }

    /// The server's clock at a tick.
    pub fn wall(&self, tick: u16) -> UnixTime {
        self.begin.saturating_add(self.tick * u32::from(tick))
    }

    /// A client's clocks at a tick.
    pub fn reading(&self, who: usize, tick: u16) -> Reading {
        let wall = self.skewed(self.wall(tick), self.clients[who].skew);
        Reading { wall, mono: MonoTime::since_origin(self.tick * u32::from(tick)) }
    }

    /// Whether the clock has leapt over the rest of time.
    pub(super) fn has_leapt(&self, tick: u16) -> bool {
        self.horizon.is_none() && tick > self.bounds.ticks
    }

    /// Whether a lock from before the start cannot be told from a phantom: all moments are told from the present.
    pub(super) fn forgets_when_it_began(&self) -> bool {
        self.horizon.is_some() && self.left_behind_until > 0
    }

    /// Whether every lease is over some time, and somebody tries until then.
    pub(super) fn has_a_future(&self) -> bool {
        (self.horizon.is_some() || self.bounds.afterwards.is_some())
            && self.clients.iter().any(|client| client.tries == Times::Forever)
    }

    /// A lease in ticks, rounded up: the first tick at which it is over, if it began at tick 0.
    pub(super) fn ticks_of(&self, length: Duration) -> u16 {
        u16::try_from(length.as_nanos().div_ceil(self.tick.as_nanos().max(1))).unwrap_or(u16::MAX)
    }

    /// The first tick at which a lease that began at this moment is over.
    pub(super) fn end_of(&self, since: MonoTime, lease: Lease) -> u16 {
        let origin = MonoTime::since_origin(Duration::ZERO);
        self.ticks_of(since.saturating_since(origin).saturating_add(lease.length()))
    }

    /// Runs a command before the first, and notes it.
    fn stage(&mut self, ticks_ago: u16, command: &Command) -> Reply {
        let now = self.before(ticks_ago);
        let reply = self.start.call(STAGEHAND, command, now);
        self.start.servers().for_each(|server| server.disconnect(STAGEHAND));
        self.prelude.push((ticks_ago, command.clone(), reply.clone()));
        reply
    }

    fn before(&self, ticks_ago: u16) -> UnixTime {
        let nanos = i64::try_from((self.tick * u32::from(ticks_ago)).as_nanos()).unwrap_or(i64::MAX);
        UnixTime::from_nanos(self.begin.as_nanos().saturating_sub(nanos))
    }

    fn skewed(&self, wall: UnixTime, ticks: i32) -> UnixTime {
        let tick_nanos = i64::try_from(self.tick.as_nanos()).unwrap_or(i64::MAX);
        UnixTime::from_nanos(wall.as_nanos().saturating_add(tick_nanos.saturating_mul(i64::from(ticks))))
    }
}
