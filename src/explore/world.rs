//! One state of everything, and what can happen to it.

use super::actor::Actor;
use super::node::Node;
use super::scene::{Bounds, Scene};

/// One state of everything: the server's side, the clients, the clock and what may still go wrong.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World<N = Node, A = Actor> {
    /// The server's side.
    pub node: N,
    /// The clients, by place.
    pub actors: Vec<A>,
    /// The clock, and what may still go wrong.
    pub left: Left,
}

/// The clock, and what may still go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Left {
    /// The tick that it is.
    pub tick: u16,
    /// Crashes to come.
    pub crashes: u8,
    /// Replies still to be lost.
    pub lost_replies: u8,
    /// Failovers to come.
    pub failovers: u8,
}

/// One change of the world. Clients are named by their place in the scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "cli", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Action {
    /// This client takes its next step.
    Step(u8),
    /// This client's command to this server, one of a round to several at once, arrives there and runs.
    StepOn(u8, u8),
    /// The reply to this client's command is lost; in the coarse grain, the command runs first.
    LoseReply(u8),
    /// This client's command to this server, one of a round to several at once, runs, and its reply is lost.
    LoseReplyOn(u8, u8),
    /// This client dies.
    Crash(u8),
    /// The server is replaced by a replica that lacks so many writes.
    FailOver(u8),
    /// The clock ticks.
    Tick,
    /// So much time passes that every lease is over.
    Leap,
}

impl Action {
    /// The client that acts.
    pub fn client(self) -> Option<usize> {
        match self {
            Self::Step(who)
            | Self::StepOn(who, _)
            | Self::LoseReply(who)
            | Self::LoseReplyOn(who, _)
            | Self::Crash(who) => Some(usize::from(who)),
            Self::FailOver(_) | Self::Tick | Self::Leap => None,
        }
    }
}

impl Scene {
    /// The world before the first action.
    pub fn world(&self) -> World {
        let Bounds { crashes, lost_replies, failovers, writes_lost, .. } = self.bounds;
        let lag = if failovers > 0 { writes_lost } else { 0 };
        World {
            node: Node { lag, ..self.start.clone() },
            actors: self.clients.iter().map(Actor::fresh).collect(),
            left: Left { tick: 0, crashes, lost_replies, failovers },
        }
    }
}
