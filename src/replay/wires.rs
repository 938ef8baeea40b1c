//! The connections to the real servers: to each of them one for every client, made with its first command, and one that
//! belongs to no client.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use redis::{ConnectionLike, RedisResult};

use super::divergence::Divergence;
use crate::driver::blocking;
use crate::wire::{Command, Key, Node, Reply, Transcript, Ttl};

/// The connections to the real servers.
pub(super) struct Wires<'a, C> {
    connect: &'a mut dyn FnMut(Node) -> RedisResult<C>,
    clients: BTreeMap<(Speaker, Node), C>,
}

/// The client at this place, or none.
type Speaker = Option<usize>;

impl<'a, C: ConnectionLike> Wires<'a, C> {
    pub(super) fn new(connect: &'a mut dyn FnMut(Node) -> RedisResult<C>) -> Self {
        Self { connect, clients: BTreeMap::new() }
    }

    /// Sends a command of the client at this place.
    pub(super) fn send(&mut self, place: usize, command: &Command) -> Result<Reply, Divergence> {
        self.say(Some(place), command)
    }

    /// Breaks the connections of the client at this place.
    pub(super) fn cut(&mut self, place: usize) {
        self.clients.retain(|(speaker, _), _| *speaker != Some(place));
    }

    /// Sends a command over a connection that is no client's.
    pub(super) fn ask(&mut self, command: &Command) -> Result<Reply, Divergence> {
        self.say(None, command)
    }

    pub(super) fn pttl(&mut self, node: Node, key: &Key) -> Result<Ttl, Divergence> {
        let reply = self.ask(&Command::new("PTTL").arg(key).on(node))?;
        Ok(if let Reply::Int(left_ms) = reply { Ttl(left_ms) } else { Ttl::NO_KEY })
    }

    fn say(&mut self, speaker: Speaker, command: &Command) -> Result<Reply, Divergence> {
        let node = command.node();
        let connection = match self.clients.entry((speaker, node)) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(closed) => closed.insert((self.connect)(node)?),
        };
        // On its connection, there is one server.
        let command = command.clone().on(Node::default());
        Ok(blocking::run(connection, &|redis: &mut Transcript| redis.send(command.clone()))?)
    }
}
