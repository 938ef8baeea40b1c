//! Connections that the locks of a program with threads share: as many as send at the same time, so that no renewal
//! waits for an attempt.

use std::sync::{Arc, Mutex, PoisonError};

use lockshift_wire::{Command, NodeReply, Reply};

use crate::connect::{Server, blocking::Connection};
use crate::driver::Unanswered;
use crate::driver::blocking::Carrier;

/// How many idle connections are kept.
const MOST_IDLE: usize = 8;

/// The connections to one server that are idle.
pub(super) struct Pool {
    server: Server,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    pub(super) fn of(server: Server) -> Arc<Self> {
        Arc::new(Self { server, idle: Mutex::default() })
    }

    /// An idle connection, or a new one, which opens with its first command.
    fn take(&self) -> Connection {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.unwrap_or_else(|| Connection::to(&self.server))
    }

    pub(super) fn put(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE {
            idle.push(connection);
        }
    }
}

/// What carries the commands of one lock.
pub(super) struct PooledCarrier {
    pool: Arc<Pool>,
    /// One that no other lock uses: for good, or because it owes a reply. What is sent on it next runs after that.
    own: Option<Connection>,
    keeps: bool,
}

impl PooledCarrier {
    /// Out of this pool, for each command anew; or one of its own, for a protocol that uses WATCH and MULTI.
    pub(super) fn new(pool: &Arc<Pool>, keeps: bool) -> Self {
        Self { pool: Arc::clone(pool), own: None, keeps }
    }
}

impl Carrier for PooledCarrier {
    fn servers(&self) -> usize {
        1
    }

    fn send(&mut self, command: &Command) -> Result<Reply, Unanswered> {
        let mut connection = self.own.take().unwrap_or_else(|| self.pool.take());
        let answer = connection.send(command);
        if self.keeps || answer.is_err() {
            self.own = Some(connection);
        } else {
            self.pool.put(connection);
        }
        answer
    }

    fn round(&mut self, commands: &[Command]) -> Vec<NodeReply> {
        let mut connection = self.own.take().unwrap_or_else(|| self.pool.take());
        let replies = connection.round(commands);
        self.own = Some(connection);
        replies
    }

    fn keeps_its_connection(&self) -> bool {
        self.keeps && !self.pool.server.is_cluster()
    }
}
