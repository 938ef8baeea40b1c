//! What carries the commands of `run`: a connection to one server or cluster, or one to each of several masters.

use std::sync::Arc;
use std::time::Duration;

use redis::{Client, RedisResult};

use super::link::Link;
use super::server::Server;
use crate::driver::Unanswered;
use crate::driver::blocking::{Carrier, Masters};
use crate::lock::Lease;
use crate::wire::{Command, Heard, Reply};

/// What carries the commands of `run`.
pub(super) enum Wires {
    /// A connection to one server or cluster.
    One(Box<Link>),
    /// A connection to each of several masters.
    Several(Masters),
}

impl Wires {
    /// To this server, for a lock of this lease.
    pub(super) fn to(server: &Arc<Server>, lease: Lease) -> RedisResult<Self> {
        let Server::Masters(nodes) = &**server else { return Ok(Self::One(Box::new(Link::to(server)?))) };
        let clients = nodes.iter().map(Server::client).collect::<RedisResult<Vec<Client>>>()?;
        Ok(Self::Several(Masters::new(clients, patience(lease))))
    }
}

/// How long one master may take to answer: far less than the lease, so that it still runs when the slowest has.
fn patience(lease: Lease) -> Duration {
    (lease.length() / 20).clamp(Duration::from_millis(20), Duration::from_secs(1))
}

impl Carrier for Wires {
    fn servers(&self) -> usize {
        match self {
            Self::One(link) => link.servers(),
            Self::Several(masters) => masters.servers(),
        }
    }

    fn send(&mut self, command: &Command) -> Result<Reply, Unanswered> {
        match self {
            Self::One(link) => link.send(command),
            Self::Several(masters) => masters.send(command),
        }
    }

    fn round(&mut self, commands: &[Command]) -> Vec<Heard> {
        match self {
            Self::One(link) => link.round(commands),
            Self::Several(masters) => masters.round(commands),
        }
    }

    fn keeps_its_connection(&self) -> bool {
        match self {
            Self::One(link) => link.keeps_its_connection(),
            Self::Several(masters) => masters.keeps_its_connection(),
        }
    }
}
