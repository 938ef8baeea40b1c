//! The connection of a program with threads.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::Arc;

use lockshift_wire::MonoTime;
use redis::{Client, Cmd, ConnectionLike, RedisError, RedisResult, Value, cmd};

use super::delivery::{Delivery, Next, is_to_be_asked};
use super::node::Node;
use super::routing;
use super::server::{Place, Server};
use super::slots::SlotTable;
use super::topology::{Topology, is_master, master_command, named_master, slots_command};
use super::transaction::Transaction;
use crate::driver::{host, unsent};

/// A connection to one server, to a cluster, or to the master that sentinels name, which opens anew after it broke.
///
/// See [the module above](super) for what it does between commands, and never within one. A cluster's connection cannot
/// carry WATCH and MULTI, and says so as the `redis` crate's own does.
pub struct Connection {
    server: Server,
    topology: Option<Topology>,
    nodes: HashMap<Arc<str>, Open>,
    transaction: Transaction,
}

/// An open connection to one server.
struct Open {
    node: Node,
    connection: redis::Connection,
    /// When it last answered; `None` if it owes a reply.
    answered: Option<MonoTime>,
}

impl Open {
    /// Whether it is open on both sides, as far as a client can find out without sending anything.
    fn is_usable(&mut self) -> bool {
        if !is_to_be_asked(self.answered, host::mono()) {
            return true;
        }
        // A late reply is in front of this one, and the `redis` crate passes over it. An error that the server replies is `Ok` here.
        let answer = self.connection.req_command(&cmd("PING"));
        self.note(&answer);
        answer.is_ok()
    }

    fn note<T>(&mut self, answer: &RedisResult<T>) {
        self.answered = match answer {
            Err(error) if error.is_io_error() => None,
            _ => Some(host::mono()),
        };
    }
}

impl Server {
    /// A connection to it, open.
    ///
    /// # Errors
    /// It cannot be reached, or refuses the login.
    pub fn connect(&self) -> RedisResult<Connection> {
        let mut connection = Connection::to(self);
        connection.open()?;
        Ok(connection)
    }

    /// A client of the `redis` crate for a server that sees all messages published: the one server, the present
    /// master, or any node of the cluster that replies.
    ///
    /// # Errors
    /// The sentinels or the cluster cannot be asked.
    pub fn client(&self) -> RedisResult<Client> {
        match &*self.place {
            Place::Single(node) => node.client(),
            Place::Cluster(_) | Place::Sentinel { .. } => {
                let masters = self.masters()?;
                match masters.first().map(|master| &*master.place) {
                    Some(Place::Single(node)) => node.client(),
                    _ => Err((redis::ErrorKind::InvalidClientConfig, "there is no master").into()),
                }
            }
        }
    }

    /// Each master as a server of its own: there, SCAN shows every key once.
    ///
    /// # Errors
    /// The sentinels or the cluster cannot be asked.
    pub fn masters(&self) -> RedisResult<Vec<Self>> {
        let nodes = Connection::to(self).masters()?;
        Ok(nodes
            .into_iter()
            .map(|node| Self { place: Arc::new(Place::Single(node)), timeouts: self.timeouts })
            .collect())
    }
}

impl Connection {
    /// A connection to this server, which opens with its first command.
    pub fn to(server: &Server) -> Self {
        Self { server: server.clone(), topology: None, nodes: HashMap::new(), transaction: Transaction::default() }
    }

    /// Opens it: to one server of several.
    ///
    /// # Errors
    /// It cannot be reached, or refuses the login.
    pub(super) fn open(&mut self) -> RedisResult<()> {
        let node = self.target(None)?;
        self.opened(&node).map(drop)
    }

    /// Each master.
    pub(super) fn masters(&mut self) -> RedisResult<Vec<Node>> {
        self.topology = None;
        self.target(None)?;
        Ok(match self.topology.take() {
            Some(Topology::One(node)) => vec![node],
            Some(Topology::Slots(table)) => table.masters(),
            None => Vec::new(),
        })
    }

    /// Where a command for this slot goes.
    fn target(&mut self, slot: Option<u16>) -> RedisResult<Node> {
        let topology = match self.topology.take() {
            Some(topology) => topology,
            None => self.discover()?,
        };
        Ok(self.topology.insert(topology).target(slot).clone())
    }

    fn discover(&mut self) -> RedisResult<Topology> {
        match &*Arc::clone(&self.server.place) {
            Place::Single(node) => Ok(Topology::One(node.clone())),
            Place::Cluster(named) => {
                let open: Vec<Node> = self.nodes.values().map(|open| open.node.clone()).collect();
                let ask = |node: &Node| SlotTable::from_reply(node, self.opened(node)?.req_command(&slots_command())?);
                first(open.iter().chain(named), ask).map(Topology::Slots)
            }
            Place::Sentinel { sentinels, service, template } => {
                let timeouts = self.server.timeouts;
                let ask = |sentinel: &Node| {
                    named_master(template, sentinel.open(timeouts)?.req_command(&master_command(service))?)
                };
                first(sentinels.iter(), ask).map(Topology::One)
            }
        }
    }

    /// The connection to this node, which is open.
    fn opened(&mut self, node: &Node) -> RedisResult<&mut redis::Connection> {
        let is_usable = match self.nodes.get_mut(node.name()) {
            // Another connection would not know what this one watches.
            Some(open) => self.transaction.is_open() || open.is_usable(),
            None => false,
        };
        if !is_usable {
            self.nodes.remove(node.name());
            self.transaction = Transaction::default();
            let mut connection = node.open(self.server.timeouts)?;
            if matches!(*self.server.place, Place::Sentinel { .. }) {
                is_master(node, connection.req_command(&cmd("ROLE")))?;
            }
            let open = Open { node: node.clone(), connection, answered: Some(host::mono()) };
            self.nodes.insert(Arc::clone(node.name()), open);
        }
        Ok(&mut self.nodes.get_mut(node.name()).expect("it has just been found or inserted").connection)
    }

    /// Where a command for this slot goes, with an open connection. Nothing has been sent if there is none.
    fn reached(&mut self, slot: Option<u16>, delivery: &mut Delivery) -> RedisResult<Node> {
        loop {
            let reached = self.target(slot).and_then(|node| self.opened(&node).map(|_| node));
            match reached {
                Ok(node) => return Ok(node),
                Err(error) => {
                    // Another node may be the master by now, or own the slot.
                    self.topology = None;
                    if self.server.is_single() || !delivery.may_look_again() {
                        return Err(unsent(error));
                    }
                }
            }
        }
    }

    /// Sends a command to this node, with an open connection, and notes what becomes of that.
    fn send<T>(&mut self, node: &Node, send: impl FnOnce(&mut redis::Connection) -> RedisResult<T>) -> RedisResult<T> {
        let answer = self.opened(node).map_err(unsent).and_then(send);
        if let Some(open) = self.nodes.get_mut(node.name()) {
            open.note(&answer);
        }
        if let Err(error) = &answer
            && (error.is_io_error() || error.is_unrecoverable_error())
        {
            self.transaction = Transaction::default();
            // One that only was too slow is kept: what is sent on it next runs after what is under way. If it stays
            // silent, the PING before the next command shows that.
            if !error.is_timeout() {
                log::debug!(target: "lockshift::connect", "{node}: connection closed: {error}");
                self.nodes.remove(node.name());
            }
        }
        answer
    }

    /// Sends a command on the connection that is open, and on no other.
    fn request_here(&mut self, command: &[u8]) -> RedisResult<Value> {
        let node = self.target(None)?;
        if !self.nodes.contains_key(node.name()) {
            return Err(unsent(io::Error::from(io::ErrorKind::NotConnected).into()));
        }
        // It is not asked PING first either, and so not replaced.
        let transaction = std::mem::replace(&mut self.transaction, Transaction::begun());
        let answer = self.send(&node, |connection| connection.req_packed_command(command));
        self.transaction = if answer.is_ok() { transaction } else { Transaction::default() };
        answer
    }

    fn request(&mut self, command: &[u8]) -> RedisResult<Value> {
        if routing::is_about_its_connection(command) && !self.server.is_cluster() {
            return self.request_here(command);
        }
        let slot = if self.server.is_cluster() { routing::slot(command) } else { None };
        let mut delivery = Delivery::begin(host::mono(), self.server.timeouts.response);
        let mut asked = None;
        loop {
            let is_asking = asked.is_some();
            let node = match asked.take() {
                Some(node) => node,
                None => self.reached(slot, &mut delivery)?,
            };
            if is_asking {
                self.send(&node, |connection| connection.req_command(&cmd("ASKING"))?.extract_error())
                    .map_err(unsent)?;
            }
            let answer = self.send(&node, |connection| connection.req_packed_command(command));
            match delivery.after(&answer, host::mono) {
                Next::Answer => {
                    self.transaction.note(routing::name(command), answer.is_ok());
                    return answer;
                }
                Next::AnswerAndForget => {
                    self.forget(&node);
                    return answer;
                }
                Next::Moved { .. } | Next::Ask { .. } if !self.server.is_cluster() => return answer,
                Next::Moved { slot, host, port } => {
                    let owner = node.moved_to(&host, port);
                    log::debug!(target: "lockshift::connect", "slot {slot} has moved to {owner}");
                    self.topology.iter_mut().for_each(|topology| topology.learn(slot, owner.clone()));
                }
                Next::Ask { host, port } => asked = Some(node.moved_to(&host, port)),
                Next::Pause(pause) => host::sleep(pause),
            }
        }
    }

    /// Finds out anew before the next command which server is the master, or owns which slots. Also behind one address: the name
    /// may lead to another server by now.
    fn forget(&mut self, node: &Node) {
        self.topology = None;
        self.nodes.remove(node.name());
    }
}

/// What the first of these says that can be asked; else why the last one cannot.
fn first<'a, T>(nodes: impl Iterator<Item = &'a Node>, mut ask: impl FnMut(&Node) -> RedisResult<T>) -> RedisResult<T> {
    let mut refusal: Option<RedisError> = None;
    for node in nodes {
        match ask(node) {
            Ok(answer) => return Ok(answer),
            Err(error) => {
                log::debug!(target: "lockshift::connect", "{node}: {error}");
                refusal = Some(error);
            }
        }
    }
    Err(refusal.unwrap_or_else(|| (redis::ErrorKind::InvalidClientConfig, "there is no address").into()))
}

impl ConnectionLike for Connection {
    fn req_packed_command(&mut self, command: &[u8]) -> RedisResult<Value> {
        self.request(command)
    }

    fn req_packed_commands(&mut self, commands: &[u8], offset: usize, count: usize) -> RedisResult<Vec<Value>> {
        let slot = if self.server.is_cluster() { routing::slot(commands) } else { None };
        let node = self.reached(slot, &mut Delivery::begin(host::mono(), self.server.timeouts.response))?;
        self.send(&node, |connection| connection.req_packed_commands(commands, offset, count))
    }

    fn req_command(&mut self, command: &Cmd) -> RedisResult<Value> {
        self.request(&command.get_packed_command())
    }

    fn get_db(&self) -> i64 {
        self.server.database()
    }

    /// A cluster's does not, and by that a driver knows it: its commands go to several nodes.
    fn supports_pipelining(&self) -> bool {
        !self.server.is_cluster()
    }

    fn check_connection(&mut self) -> bool {
        self.open().is_ok()
    }

    /// It opens when it is needed.
    fn is_open(&self) -> bool {
        true
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connection({})", self.server)
    }
}
