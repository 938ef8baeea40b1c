//! The simulated servers, and a wire of a fixed length to them.

use std::time::Duration;

use crate::sim::{Flavour, Server, Session};
use crate::wire::{Command, Fault, MonoTime, Node, NodeReply, Pending, Reading, Reply, Transcript, Turn, UnixTime};

/// From sending a command to receiving its reply.
pub(super) const ROUND_TRIP: Duration = Duration::from_micros(200);

/// The servers, and what time it is.
pub(super) struct Servers {
    servers: Vec<Server>,
    began_at: UnixTime,
    /// Since the beginning.
    pub(super) now: Duration,
}

impl Servers {
    pub(super) fn new(servers: u8, began_at: UnixTime) -> Self {
        let servers = vec![Server::new(Flavour::Redis70); usize::from(servers.max(1))];
        Self { servers, began_at, now: Duration::ZERO }
    }

    /// Goes on with an operation: its outcome, or `None` where it has sent a command, whose reply arrives a round trip later.
    pub(super) fn go_on<T>(
        &mut self,
        session: Session,
        transcript: &mut Transcript,
        operation: impl Fn(&mut Transcript) -> Turn<T>,
    ) -> Result<Option<T>, Fault> {
        loop {
            match operation(transcript.rewind()) {
                Ok(outcome) => return Ok(Some(outcome)),
                Err(Pending::Clock) => transcript.record_clock(self.reading()),
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

    fn call(&mut self, session: Session, command: &Command) -> Reply {
        let (Node(node), wall) = (command.node(), self.reading().wall);
        self.servers[usize::from(node)].call(session, command, wall)
    }

    fn reading(&self) -> Reading {
        Reading { wall: self.began_at.saturating_add(self.now), mono: MonoTime::since_origin(self.now) }
    }
}
