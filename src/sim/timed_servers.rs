//! Simulated servers at a moment, and operations that stop after each command: what several clients do is played in the
//! order of time.

use std::time::Duration;

use super::{Flavour, Server, Session};
use crate::wire::{Command, Fault, MonoTime, Node, NodeReply, Pending, Reading, Reply, Transcript, Turn, UnixTime};

/// The servers, and what time it is.
#[derive(Debug)]
pub(crate) struct TimedServers {
    servers: Vec<Server>,
    began_at: UnixTime,
    /// Since the beginning.
    pub(crate) now: Duration,
}

impl TimedServers {
    /// Empty servers, at least one.
    pub(crate) fn new(servers: u8, began_at: UnixTime) -> Self {
        let servers = vec![Server::new(Flavour::Redis70); usize::from(servers.max(1))];
        Self { servers, began_at, now: Duration::ZERO }
    }

    /// Continues an operation of a client whose wall clock is ahead of the server's by `ahead_ns`: its outcome, or `None` where
    /// it has sent a command. The server runs that at once; its reply is recorded and is yet to arrive.
    pub(crate) fn go_on<T>(
        &mut self,
        session: Session,
        ahead_ns: i64,
        transcript: &mut Transcript,
        operation: impl Fn(&mut Transcript) -> Turn<T>,
    ) -> Result<Option<T>, Fault> {
        loop {
            match operation(transcript.rewind()) {
                Ok(outcome) => return Ok(Some(outcome)),
                Err(Pending::Clock) => transcript.record_clock(self.reading(ahead_ns)),
                Err(Pending::Send(command)) => {
                    transcript.record_reply(self.call(session, &command));
                    return Ok(None);
                }
                Err(Pending::Round(commands)) => {
                    for command in commands {
                        transcript.record_node_reply(command.node(), NodeReply::Reply(self.call(session, &command)));
                    }
                    return Ok(None);
                }
                Err(Pending::Fault(fault)) => return Err(fault),
            }
        }
    }

    /// Runs a command now.
    pub(crate) fn call(&mut self, session: Session, command: &Command) -> Reply {
        let (Node(node), wall) = (command.node(), self.wall());
        self.servers[usize::from(node)].call(session, command, wall)
    }

    /// The wall clock of the servers.
    pub(crate) fn wall(&self) -> UnixTime {
        self.began_at.saturating_add(self.now)
    }

    /// The first server.
    pub(crate) fn first(&self) -> &Server {
        &self.servers[0]
    }

    /// All of them.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Server> {
        self.servers.iter_mut()
    }

    fn reading(&self, ahead_ns: i64) -> Reading {
        let wall = UnixTime::from_nanos(self.wall().as_nanos().saturating_add(ahead_ns));
        Reading { wall, mono: MonoTime::since_origin(self.now) }
    }
}
