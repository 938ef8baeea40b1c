//! The loop: a procedure, run over a connection.

use lockshift_wire::{Command, Fault, Node, Pending, Procedure, Reply, Transcript};
use redis::Cmd;
use redis::aio::ConnectionLike;

use crate::driver::connection::{Unanswered, never_left, reply};
use crate::driver::host;
use crate::driver::interrupted::Interrupted;

/// Runs `procedure` to its end over `connection`. Dropping this future leaves the procedure where it is.
///
/// # Errors
/// [`Interrupted`]: Redis refused, or the connection broke; it says whether anything may have been changed until then.
pub async fn run<C, P>(connection: &mut C, procedure: &P) -> Result<P::Outcome, Interrupted>
where
    C: ConnectionLike,
    P: Procedure,
{
    let mut redis = Transcript::new();
    loop {
        match procedure.turn(redis.rewind()) {
            Ok(outcome) => return Ok(outcome),
            Err(Pending::Clock) => redis.record_clock(host::reading()),
            Err(Pending::Send(command)) if command.node() != Node::default() => {
                let refusal = Reply::Error("ERR this lock is on several servers, and there is one connection".into());
                return Err(Interrupted::by(Fault::new(command, refusal), &redis));
            }
            Err(Pending::Send(command)) => match send(connection, &command).await {
                Ok(reply) => redis.record_reply(reply),
                Err(unanswered) => return Err(Interrupted::at(command, unanswered, &redis)),
            },
            Err(Pending::Fault(fault)) => return Err(Interrupted::by(fault, &redis)),
        }
    }
}

async fn send<C: ConnectionLike>(connection: &mut C, command: &Command) -> Result<Reply, Unanswered> {
    let result = connection.req_packed_command(&cmd(command)).await;
    // A broken pipe, unlike in the blocking world, is also what commands under way end with.
    reply(result).map_err(|source| Unanswered { may_have_run: !never_left(&source), source })
}

/// A command as the `redis` crate sends it: as a `Cmd`, never as packed bytes, so that a cluster can be routed.
fn cmd(command: &Command) -> Cmd {
    let bytes = command.words().iter().map(Vec::len).sum();
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
