//! How clients share connections.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lockshift::wire::{Command, Reply};
use redis::{Connection, ConnectionLike, RedisError, Value};

/// How clients share connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topology {
    /// Each client has its own.
    Own,
    /// Each command is sent over the connection that was idle for longest.
    PoolPerCommand,
    /// So is each operation: an attempt, a release.
    PoolPerOperation,
    /// All share one.
    Multiplexed,
    /// Each has its own, and opens another one before it releases.
    Reconnecting,
    /// A proxy with two connections to the server: two clients share one.
    Proxied,
}

impl Topology {
    pub(super) const ALL: [Self; 6] =
        [Self::Own, Self::PoolPerCommand, Self::PoolPerOperation, Self::Multiplexed, Self::Reconnecting, Self::Proxied];

    /// Its name in the table.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Own => "own connection",
            Self::PoolPerCommand => "pool, per command",
            Self::PoolPerOperation => "pool, per operation",
            Self::Multiplexed => "one shared connection",
            Self::Reconnecting => "reconnects before its release",
            Self::Proxied => "proxy with two connections",
        }
    }
}

/// The connections of a fleet.
pub(super) struct Connections {
    topology: Topology,
    address: SocketAddr,
    shared: [Mutex<Option<Connection>>; 2],
    idle: Mutex<VecDeque<Connection>>,
}

/// The connection of one client, or of one operation.
pub(super) struct Link<'a> {
    connections: &'a Connections,
    client: u32,
    own: Option<Connection>,
}

impl Connections {
    pub(super) fn new(topology: Topology, address: SocketAddr) -> Self {
        Self { topology, address, shared: [Mutex::default(), Mutex::default()], idle: Mutex::default() }
    }

    fn open(&self) -> Connection {
        let url = format!("redis://{}/", self.address);
        redis::Client::open(url).expect("the url is well formed").get_connection().expect("the server is up")
    }

    /// The link of a client.
    pub(super) fn link(&self, client: u32) -> Link<'_> {
        Link { connections: self, client, own: None }
    }

    fn borrow(&self) -> Connection {
        lock(&self.idle).pop_front().unwrap_or_else(|| self.open())
    }
}

impl Link<'_> {
    /// An operation begins; it may be a release.
    pub(super) fn begin(&mut self, is_release: bool) {
        match self.connections.topology {
            Topology::PoolPerOperation => self.own = Some(self.connections.borrow()),
            Topology::Reconnecting if is_release => self.own = None,
            _ => {}
        }
    }

    /// An operation ends.
    pub(super) fn end(&mut self) {
        if self.connections.topology == Topology::PoolPerOperation {
            lock(&self.connections.idle).extend(self.own.take());
        }
    }

    /// The client dies, and another one takes its place.
    pub(super) fn restart(&mut self) {
        self.own = None;
    }

    pub(super) fn send(&mut self, command: &Command) -> Reply {
        let connections = self.connections;
        match connections.topology {
            Topology::Own | Topology::Reconnecting | Topology::PoolPerOperation => {
                call(self.own.get_or_insert_with(|| connections.open()), command)
            }
            Topology::PoolPerCommand => {
                let mut borrowed = connections.borrow();
                let reply = call(&mut borrowed, command);
                lock(&connections.idle).push_back(borrowed);
                reply
            }
            Topology::Multiplexed => call_shared(connections, 0, command),
            Topology::Proxied => call_shared(connections, self.client as usize % 2, command),
        }
    }
}

fn call_shared(connections: &Connections, place: usize, command: &Command) -> Reply {
    let mut shared = lock(&connections.shared[place]);
    call(shared.get_or_insert_with(|| connections.open()), command)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn call(connection: &mut Connection, command: &Command) -> Reply {
    let mut words = command.words().iter();
    let mut packed = redis::Cmd::new();
    words.by_ref().for_each(|word| {
        packed.arg(word.as_slice());
    });
    connection.req_packed_command(&packed.get_packed_command()).map_or_else(|error| refused(&error), reply)
}

fn refused(error: &RedisError) -> Reply {
    let code = error.code().unwrap_or_else(|| panic!("the server is up: {error}"));
    Reply::Error(format!("{code} {}", error.detail().unwrap_or_default()))
}

fn reply(value: Value) -> Reply {
    match value {
        Value::Nil => Reply::Nil,
        Value::Int(number) => Reply::Int(number),
        Value::BulkString(bytes) => Reply::Bulk(bytes),
        Value::SimpleString(text) => Reply::Status(text),
        Value::Okay => Reply::ok(),
        Value::Array(items) => Reply::Array(items.into_iter().map(reply).collect()),
        Value::ServerError(error) => Reply::Error(format!("{} {}", error.code(), error.details().unwrap_or_default())),
        other => panic!("RESP2 has no {other:?}"),
    }
}
