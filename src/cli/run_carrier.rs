//! The connections of `run`: one to a server or cluster, or one to each of several masters.

use std::time::Duration;

use redis::{Client, RedisError, RedisResult};

use super::server::ServerChoice;
use crate::connect::{self, blocking::Connection};
use crate::driver::Unanswered;
use crate::driver::blocking::{Carrier, Masters};
use crate::lock::Lease;
use crate::wire::{Command, NodeReply, Reply};

/// The connections of `run`.
pub(super) enum RunCarrier {
    /// A connection to one server or cluster.
    One(Box<Connection>),
    /// A connection to each of several masters.
    Several(Masters),
}

/// What to do where the server cannot be used yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnRefusal {
    /// It is an error.
    Fail,
    /// Each attempt to acquire tries to connect.
    OpenLater,
}

impl OnRefusal {
    /// Whether it may be used later, although it cannot be used now for this reason.
    pub(super) fn tolerates(self, error: &RedisError) -> bool {
        match self {
            Self::Fail => false,
            Self::OpenLater => may_pass(error),
        }
    }
}

impl RunCarrier {
    /// To this server, for a lock of this lease.
    pub(super) fn to(server: &ServerChoice, lease: Lease, refusal: OnRefusal) -> RedisResult<Self> {
        match server {
            ServerChoice::One(server) => {
                let server = impatient(server, lease);
                let connection = match server.connect() {
                    Err(error) if refusal.tolerates(&error) => Connection::to(&server),
                    connected => connected?,
                };
                Ok(Self::One(Box::new(connection)))
            }
            ServerChoice::Masters(servers) => {
                let clients = servers.iter().map(connect::Server::client).collect::<RedisResult<Vec<Client>>>()?;
                Ok(Self::Several(Masters::new(clients, patience(lease))))
            }
        }
    }
}

/// Whether a later attempt may succeed: nothing listens yet, or the server loads its data, hangs, or has too many clients.
fn may_pass(error: &RedisError) -> bool {
    error.is_connection_refusal()
        || error.is_timeout()
        || error.is_connection_dropped()
        || matches!(error.code(), Some("LOADING" | "BUSY" | "MASTERDOWN"))
}

/// The server with the timeouts of a lock: a holder waits for no answer past its lease.
fn impatient(server: &connect::Server, lease: Lease) -> connect::Server {
    let server = server.clone().connecting_within(Duration::from_secs(2)).answering_within(Duration::from_secs(1));
    server.for_lease(lease.length())
}

/// How long one master may take to answer: far less than the lease, so that it still runs when the slowest has.
fn patience(lease: Lease) -> Duration {
    (lease.length() / 20).clamp(Duration::from_millis(20), Duration::from_secs(1))
}

impl Carrier for RunCarrier {
    fn servers(&self) -> usize {
        match self {
            Self::One(connection) => connection.servers(),
            Self::Several(masters) => masters.servers(),
        }
    }

    fn send(&mut self, command: &Command) -> Result<Reply, Unanswered> {
        match self {
            Self::One(connection) => connection.send(command),
            Self::Several(masters) => masters.send(command),
        }
    }

    fn round(&mut self, commands: &[Command]) -> Vec<NodeReply> {
        match self {
            Self::One(connection) => connection.round(commands),
            Self::Several(masters) => masters.round(commands),
        }
    }

    fn keeps_its_connection(&self) -> bool {
        match self {
            Self::One(connection) => connection.keeps_its_connection(),
            Self::Several(masters) => masters.keeps_its_connection(),
        }
    }
}
