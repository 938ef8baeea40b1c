//! One state of everything, and what can happen to it.

use super::actor::Actor;
use super::faults::FaultBudget;
use super::scene::{Bounds, Scene};
use super::server_side::ServerSide;

/// One state of everything: the server's side, the clients, the clock and what may still go wrong.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World<N = ServerSide, A = Actor> {
    /// The server's side.
    pub node: N,
    /// The clients, by place.
    pub actors: Vec<A>,
    /// What time it is.
    pub clock: Clock,
    /// What may still go wrong.
    pub faults: FaultBudget,
}

/// What time it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Clock {
    /// Ticks since the start.
    pub tick: u16,
}

/// One change of the world. Clients are named by their place in the scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "cli", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Action {
    /// This client takes its next step.
    Step(u8),
    /// This client's command to this server, one of a round to several at once, arrives there and runs.
    StepOn(u8, u8),
    /// This client's command is lost on its way, and never runs.
    LoseRequest(u8),
    /// The reply to this client's command is lost; in the coarse grain, the command runs first.
    LoseReply(u8),
    /// This client's command to this server, one of a round to several at once, runs, and its reply is lost.
    LoseReplyOn(u8, u8),
    /// This client's command to this server, one of a round to several at once, is lost on its way, and never runs.
    LoseRequestOn(u8, u8),
    /// This client gives up its command to this server, one of a round to several at once, which is still on its way.
    DelayRequestOn(u8, u8),
    /// This client crashes.
    Crash(u8),
    /// This server is replaced by its replica, which lacks so many writes.
    #[cfg_attr(feature = "cli", serde(deserialize_with = "failover"))]
    FailOver(u8, u8),
    /// This client gives its command up, which is still on its way.
    DelayRequest(u8),
    /// The oldest command that this client has given up arrives and runs.
    RunLate(u8),
    /// This client, which has crashed, starts anew.
    RestartClient(u8),
    /// This client's wall clock is set so many ticks ahead.
    SetClock(u8, i8),
    /// This server restarts with its data.
    Restart(u8),
    /// This server restarts without its data.
    LoseData(u8),
    /// This server evicts the key at this place of all its keys.
    Evict(u8, u8),
    /// This server removes the key at this place of all its keys, in the millisecond of its deadline.
    RemoveAtDeadline(u8, u8),
    /// This server's clock is set so many ticks ahead.
    SetServerClock(u8, i8),
    /// The clock ticks.
    Tick,
    /// So much time passes that every lease expires.
    Leap,
}

/// A failover as traces have it: which server, and how many writes its replica lacks. Earlier traces have only the latter; there
/// the first server is replaced.
#[cfg(feature = "cli")]
fn failover<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<(u8, u8), D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Written {
        OfFirst(u8),
        Of(u8, u8),
    }
    Ok(match <Written as serde::Deserialize>::deserialize(deserializer)? {
        Written::OfFirst(writes_lost) => (0, writes_lost),
        Written::Of(server, writes_lost) => (server, writes_lost),
    })
}

impl Action {
    /// The client that acts.
    pub fn client(self) -> Option<usize> {
        match self {
            Self::Step(who)
            | Self::StepOn(who, _)
            | Self::LoseRequest(who)
            | Self::LoseReply(who)
            | Self::LoseReplyOn(who, _)
            | Self::LoseRequestOn(who, _)
            | Self::DelayRequestOn(who, _)
            | Self::DelayRequest(who)
            | Self::RunLate(who)
            | Self::RestartClient(who)
            | Self::SetClock(who, _)
            | Self::Crash(who) => Some(usize::from(who)),
            Self::FailOver(..)
            | Self::Restart(_)
            | Self::LoseData(_)
            | Self::Evict(..)
            | Self::RemoveAtDeadline(..)
            | Self::SetServerClock(..)
            | Self::Tick
            | Self::Leap => None,
        }
    }

    /// The server to which a fault of its own happens.
    pub fn server(self) -> Option<u8> {
        match self {
            Self::Restart(server)
            | Self::LoseData(server)
            | Self::Evict(server, _)
            | Self::RemoveAtDeadline(server, _)
            | Self::SetServerClock(server, _)
            | Self::FailOver(server, _) => Some(server),
            Self::Step(_)
            | Self::StepOn(..)
            | Self::LoseRequest(_)
            | Self::LoseReply(_)
            | Self::LoseReplyOn(..)
            | Self::LoseRequestOn(..)
            | Self::DelayRequestOn(..)
            | Self::DelayRequest(_)
            | Self::RunLate(_)
            | Self::RestartClient(_)
            | Self::SetClock(..)
            | Self::Crash(_)
            | Self::Tick
            | Self::Leap => None,
        }
    }

    /// Whether it is a fault, which the [`FaultBudget`] pays for.
    pub fn is_fault(self) -> bool {
        match self {
            Self::LoseRequest(_)
            | Self::LoseReply(_)
            | Self::LoseReplyOn(..)
            | Self::LoseRequestOn(..)
            | Self::DelayRequestOn(..)
            | Self::DelayRequest(_)
            | Self::RestartClient(_)
            | Self::SetClock(..)
            | Self::Crash(_)
            | Self::FailOver(..)
            | Self::Restart(_)
            | Self::LoseData(_)
            | Self::Evict(..)
            | Self::RemoveAtDeadline(..)
            | Self::SetServerClock(..) => true,
            Self::Step(_) | Self::StepOn(..) | Self::RunLate(_) | Self::Tick | Self::Leap => false,
        }
    }

    /// Whether it ends the connection of the client that acts.
    pub fn disconnects(self) -> bool {
        matches!(self, Self::LoseRequest(_) | Self::DelayRequest(_) | Self::LoseReply(_) | Self::Crash(_))
    }

    /// Whether only the server itself can do it, and no command.
    pub fn is_server_fault(self) -> bool {
        self.server().is_some()
    }

    /// The same by another client.
    #[must_use]
    pub(super) fn by(self, client: impl FnOnce(u8) -> u8) -> Self {
        match self {
            Self::Step(who) => Self::Step(client(who)),
            Self::StepOn(who, server) => Self::StepOn(client(who), server),
            Self::LoseRequest(who) => Self::LoseRequest(client(who)),
            Self::LoseReply(who) => Self::LoseReply(client(who)),
            Self::LoseReplyOn(who, server) => Self::LoseReplyOn(client(who), server),
            Self::LoseRequestOn(who, server) => Self::LoseRequestOn(client(who), server),
            Self::DelayRequestOn(who, server) => Self::DelayRequestOn(client(who), server),
            Self::DelayRequest(who) => Self::DelayRequest(client(who)),
            Self::RunLate(who) => Self::RunLate(client(who)),
            Self::RestartClient(who) => Self::RestartClient(client(who)),
            Self::SetClock(who, ticks) => Self::SetClock(client(who), ticks),
            Self::Crash(who) => Self::Crash(client(who)),
            Self::FailOver(..)
            | Self::Restart(_)
            | Self::LoseData(_)
            | Self::Evict(..)
            | Self::RemoveAtDeadline(..)
            | Self::SetServerClock(..)
            | Self::Tick
            | Self::Leap => self,
        }
    }
}

impl Scene {
    /// The world before the first action.
    pub fn world(&self) -> World {
        let Bounds { faults, writes_lost, .. } = self.bounds;
        let lag = if faults.failovers > 0 { writes_lost } else { 0 };
        World {
            node: ServerSide { lag, ..self.start.clone() },
            actors: self.clients.iter().map(Actor::fresh).collect(),
            clock: Clock::default(),
            faults,
        }
    }
}
