//! The connections to the real server: one for each client, made when it first speaks, and one that is nobody's.

use std::collections::BTreeMap;

use redis::{ConnectionLike, RedisResult};

use super::divergence::Divergence;
use crate::driver::blocking;
use crate::wire::{Command, Key, Reply, Transcript, Ttl};

/// The connections to the real server.
pub(super) struct Wires<'a, C> {
    connect: &'a mut dyn FnMut() -> RedisResult<C>,
    clients: BTreeMap<usize, C>,
    nobodys: C,
}

impl<'a, C: ConnectionLike> Wires<'a, C> {
    pub(super) fn new(connect: &'a mut dyn FnMut() -> RedisResult<C>) -> Result<Self, Divergence> {
        let nobodys = connect()?;
        Ok(Self { connect, clients: BTreeMap::new(), nobodys })
    }

    /// Sends a command of the client at this place.
    pub(super) fn send(&mut self, place: usize, command: &Command) -> Result<Reply, Divergence> {
        if !self.clients.contains_key(&place) {
            self.clients.insert(place, (self.connect)()?);
        }
        match self.clients.get_mut(&place) {
            Some(connection) => exchange(connection, command),
            None => Ok(Reply::Nil),
        }
    }

    /// Breaks the connection of the client at this place.
    pub(super) fn cut(&mut self, place: usize) {
        self.clients.remove(&place);
    }

    /// Sends a command of nobody's.
    pub(super) fn ask(&mut self, command: &Command) -> Result<Reply, Divergence> {
        exchange(&mut self.nobodys, command)
    }

    pub(super) fn pttl(&mut self, key: &Key) -> Result<Ttl, Divergence> {
        let reply = self.ask(&Command::new("PTTL").arg(key))?;
        Ok(if let Reply::Int(left_ms) = reply { Ttl(left_ms) } else { Ttl::NO_KEY })
    }
}

fn exchange<C: ConnectionLike>(connection: &mut C, command: &Command) -> Result<Reply, Divergence> {
    Ok(blocking::run(connection, &|redis: &mut Transcript| redis.send(command.clone()))?)
}
