//! What carries the commands of a procedure, a connection of the `redis` crate or several servers.

use std::ops::DerefMut;

use lockshift_wire::{Command, NodeReply, Procedure, Reply};
use redis::ConnectionLike;

use crate::driver::connection::{is_broken_pipe, is_resending, never_left, reply};
use crate::driver::interrupted::{Interrupted, Unanswered, node_reply};
use crate::driver::link::{self, Link, at_once};

/// Runs `procedure` to its end over `connection`.
///
/// # Errors
/// [`Interrupted`]: Redis refused, or the connection broke; it says whether anything may have been changed until then.
pub fn run<C: Carrier, P: Procedure>(connection: &mut C, procedure: &P) -> Result<P::Outcome, Interrupted> {
    at_once(link::run(&mut Blocking { connection, is_own: true }, procedure))
}

/// What carries the commands of a procedure: any connection of the `redis` crate, to one server; or
/// [`Masters`](super::Masters), which are several.
pub trait Carrier {
    /// How many servers there are. Procedures that ask for another are refused.
    fn servers(&self) -> usize;

    /// Sends a command to the server that it is for, and waits for the reply.
    ///
    /// # Errors
    /// [`Unanswered`] if no reply came: it says whether the command can have run.
    fn send(&mut self, command: &Command) -> Result<Reply, Unanswered>;

    /// Sends these commands, each to another server, all before it waits for any reply. Returns what came back from each.
    fn round(&mut self, commands: &[Command]) -> Vec<NodeReply>;

    /// Whether all commands for a server go over the same connection, as WATCH and MULTI need it.
    fn keeps_its_connection(&self) -> bool;

    /// Whether connections of this type send a command again by themselves when no reply came: then no lock uses them.
    fn resends() -> bool
    where
        Self: Sized,
    {
        false
    }
}

impl<C: ConnectionLike> Carrier for C {
    fn servers(&self) -> usize {
        1
    }

    fn send(&mut self, command: &Command) -> Result<Reply, Unanswered> {
        // Packed at once: a third of what a `Cmd` costs. A cluster's connection reads the key to route by from these bytes.
        let packed = command.packed();
        reply(self.req_packed_command(&packed)).map_err(|source| {
            // A broken pipe is what writing to a closed socket ends with, so nothing was sent. But a connection that
            // sends again by itself, as a `redis::cluster::ClusterConnection` does, tells only of its last attempt.
            let only_attempt = self.supports_pipelining();
            let unsent = never_left(&source) || is_broken_pipe(&source);
            Unanswered { may_have_run: !(only_attempt && unsent), source }
        })
    }

    fn round(&mut self, commands: &[Command]) -> Vec<NodeReply> {
        commands.iter().map(|command| node_reply(self.send(command).map_err(|unanswered| unanswered.source))).collect()
    }

    fn keeps_its_connection(&self) -> bool {
        self.supports_pipelining()
    }

    fn resends() -> bool {
        is_resending::<C>()
    }
}

/// A connection that blocks its thread, borrowed in this way.
pub(super) struct Blocking<B> {
    pub(super) connection: B,
    /// Whether it is one connection to one server that no other procedure uses meanwhile.
    pub(super) is_own: bool,
}

impl<C: Carrier, B: DerefMut<Target = C>> Link for Blocking<B> {
    fn servers(&self) -> usize {
        self.connection.servers()
    }

    fn is_own(&self) -> bool {
        self.is_own
    }

    async fn send(&mut self, command: &Command) -> Result<Reply, Unanswered> {
        self.connection.send(command)
    }

    async fn round(&mut self, commands: &[Command]) -> Vec<NodeReply> {
        self.connection.round(commands)
    }
}
