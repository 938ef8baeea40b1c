//! A connection to the chosen server that outlives its breaks: a command that fails closes it, the next one opens it
//! anew. No command is ever sent twice.

use std::sync::Arc;

use redis::cluster::ClusterConnection;
use redis::{Cmd, Connection, ConnectionLike, ErrorKind, RedisError, RedisResult, Value};

use super::server::Server;

/// A connection that is opened when needed.
pub(super) struct Link {
    server: Arc<Server>,
    open: Option<Open>,
}

enum Open {
    Single(Connection),
    Cluster(Box<ClusterConnection>),
}

impl Link {
    /// A connection to this server, open.
    pub(super) fn to(server: &Arc<Server>) -> RedisResult<Self> {
        let mut link = Self { server: Arc::clone(server), open: None };
        link.opened()?;
        Ok(link)
    }

    fn opened(&mut self) -> RedisResult<&mut Open> {
        let open = match self.open.take() {
            Some(open) => open,
            None => match &*self.server {
                Server::Single(node) => Open::Single(Server::connect_single(node)?),
                Server::Cluster(nodes) => Open::Cluster(Box::new(Server::connect_cluster(nodes)?)),
                Server::Masters(_) => return Err(one_of_several()),
            },
        };
        Ok(self.open.insert(open))
    }

    /// Hands back the answer; after one that says nothing of the next reply's place, closes.
    fn unless_broken<T>(&mut self, answer: RedisResult<T>) -> RedisResult<T> {
        if let Err(error) = &answer
            && (error.is_io_error() || error.is_unrecoverable_error())
        {
            log::debug!("{}: connection closed: {error}", self.server);
            self.open = None;
        }
        answer
    }
}

/// Several masters are not one server.
fn one_of_several() -> RedisError {
    (ErrorKind::InvalidClientConfig, "several independent masters need a connection each").into()
}

impl ConnectionLike for Link {
    fn req_packed_command(&mut self, command: &[u8]) -> RedisResult<Value> {
        let answer = match self.opened()? {
            Open::Single(connection) => connection.req_packed_command(command),
            Open::Cluster(connection) => connection.req_packed_command(command),
        };
        self.unless_broken(answer)
    }

    fn req_packed_commands(&mut self, commands: &[u8], offset: usize, count: usize) -> RedisResult<Vec<Value>> {
        let answer = match self.opened()? {
            Open::Single(connection) => connection.req_packed_commands(commands, offset, count),
            Open::Cluster(connection) => connection.req_packed_commands(commands, offset, count),
        };
        self.unless_broken(answer)
    }

    fn req_command(&mut self, command: &Cmd) -> RedisResult<Value> {
        let answer = match self.opened()? {
            Open::Single(connection) => connection.req_command(command),
            Open::Cluster(connection) => connection.req_command(command),
        };
        self.unless_broken(answer)
    }

    fn get_db(&self) -> i64 {
        match &self.open {
            Some(Open::Single(connection)) => connection.get_db(),
            Some(Open::Cluster(_)) | None => 0,
        }
    }

    /// A cluster does not, and by that a driver knows it: its commands go to several nodes.
    fn supports_pipelining(&self) -> bool {
        match &*self.server {
            Server::Single(_) => true,
            Server::Cluster(_) | Server::Masters(_) => false,
        }
    }

    fn check_connection(&mut self) -> bool {
        match self.opened() {
            Ok(Open::Single(connection)) => connection.check_connection(),
            Ok(Open::Cluster(connection)) => connection.check_connection(),
            Err(_) => false,
        }
    }

    fn is_open(&self) -> bool {
        match &self.open {
            Some(Open::Single(connection)) => connection.is_open(),
            Some(Open::Cluster(connection)) => connection.is_open(),
            None => false,
        }
    }
}
