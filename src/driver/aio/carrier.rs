//! What carries the commands of a procedure, a connection of the `redis` crate or several servers.

use std::future::Future;
use std::ops::DerefMut;

use lockshift_wire::{Command, NodeReply, Procedure, Reply};
use redis::aio::ConnectionLike;
use redis::{Cmd, RedisResult, Value};

use crate::driver::connection::{is_resending, never_left, reply};
use crate::driver::interrupted::{Interrupted, Unanswered, node_reply};
use crate::driver::link::{self, Link};

/// Runs `procedure` to its end over `connection`. Dropping this future leaves the procedure where it is.
///
/// # Errors
/// [`Interrupted`]: Redis refused, or the connection broke; it says whether anything may have been changed until then.
pub async fn run<C, P>(connection: &mut C, procedure: &P) -> Result<P::Outcome, Interrupted>
where
    C: Carrier,
    P: Procedure,
{
    link::run(&mut InTask { connection, is_own: true }, procedure).await
}

/// What carries the commands of a procedure: any async connection of the `redis` crate, to one server; or
/// [`Masters`](super::Masters), which are several.
pub trait Carrier: Send {
    /// How many servers there are. Procedures that ask for another are refused.
    fn servers(&self) -> usize;

    /// Sends a command to the server that it is for, and waits for the reply.
    ///
    /// # Errors
    /// [`Unanswered`] if no reply came: it says whether the command can have run.
    fn send(&mut self, command: &Command) -> impl Future<Output = Result<Reply, Unanswered>> + Send;

    /// Sends these commands, each to another server, all before it waits for any reply. Returns what came back from each.
    fn round(&mut self, commands: &[Command]) -> impl Future<Output = Vec<NodeReply>> + Send;

    /// Whether connections of this type send a command again by themselves when no reply came: then no lock uses them.
    fn resends() -> bool
    where
        Self: Sized,
    {
        false
    }
}

impl<C: ConnectionLike + Send> Carrier for C {
    fn servers(&self) -> usize {
        1
    }

    async fn send(&mut self, command: &Command) -> Result<Reply, Unanswered> {
        answered(self.req_packed_command(&cmd(command)).await)
    }

    async fn round(&mut self, commands: &[Command]) -> Vec<NodeReply> {
        let mut all = Vec::with_capacity(commands.len());
        for command in commands {
            all.push(node_reply(self.send(command).await.map_err(|unanswered| unanswered.source)));
        }
        all
    }

    fn resends() -> bool {
        is_resending::<C>()
    }
}

/// What became of a command.
pub(crate) fn answered(result: RedisResult<Value>) -> Result<Reply, Unanswered> {
    // A broken pipe, unlike in the blocking world, is also what commands under way end with.
    reply(result).map_err(|source| Unanswered { may_have_run: !never_left(&source), source })
}

/// A connection that lets its task wait, borrowed in this way.
pub(super) struct InTask<B> {
    pub(super) connection: B,
    /// Whether no other procedure uses it meanwhile.
    pub(super) is_own: bool,
}

impl<C: Carrier, B: DerefMut<Target = C>> Link for InTask<B> {
    fn servers(&self) -> usize {
        self.connection.servers()
    }

    fn is_own(&self) -> bool {
        self.is_own
    }

    async fn send(&mut self, command: &Command) -> Result<Reply, Unanswered> {
        self.connection.send(command).await
    }

    async fn round(&mut self, commands: &[Command]) -> Vec<NodeReply> {
        self.connection.round(commands).await
    }
}

/// A command as the `redis` crate sends it: as a `Cmd`, never as packed bytes, so that a cluster can be routed.
pub(crate) fn cmd(command: &Command) -> Cmd {
    let bytes = command.words().iter().map(|word| word.len()).sum();
    let mut cmd = Cmd::with_capacity(command.words().len(), bytes);
    for word in command.words() {
        cmd.arg(word.as_slice());
    }
    cmd
}

#[test]
fn a_cmd_carries_the_same_bytes() {
    let command = Command::new("SET").arg(b"\xffk").arg("").arg_int(-5);
    assert_eq!(cmd(&command).get_packed_command(), b"*4\r\n$3\r\nSET\r\n$2\r\n\xffk\r\n$0\r\n\r\n$2\r\n-5\r\n");
}
