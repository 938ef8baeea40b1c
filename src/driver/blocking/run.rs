//! The loop: a procedure, run over a connection.

use lockshift_wire::{Command, Fault, Node, Pending, Procedure, Reply, Transcript};
use redis::ConnectionLike;

use crate::driver::connection::{Unanswered, is_broken_pipe, never_left, reply};
use crate::driver::host;
use crate::driver::interrupted::Interrupted;

/// Runs `procedure` to its end over `connection`.
///
/// # Errors
/// [`Interrupted`]: Redis refused, or the connection broke; it says whether anything may have been changed until then.
pub fn run<C: ConnectionLike, P: Procedure>(connection: &mut C, procedure: &P) -> Result<P::Outcome, Interrupted> {
    let mut redis = Transcript::new();
    loop {
        match procedure.turn(redis.rewind()) {
            Ok(outcome) => return Ok(outcome),
            Err(Pending::Clock) => redis.record_clock(host::reading()),
            Err(Pending::Send(command)) if command.node() != Node::default() => {
                let refusal = Reply::Error("ERR this lock is on several servers, and there is one connection".into());
                return Err(Interrupted::by(Fault::new(command, refusal), &redis));
            }
            Err(Pending::Send(command)) => match send(connection, &command) {
                Ok(reply) => redis.record_reply(reply),
                Err(unanswered) => return Err(Interrupted::at(command, unanswered, &redis)),
            },
            Err(Pending::Fault(fault)) => return Err(Interrupted::by(fault, &redis)),
        }
    }
}

fn send<C: ConnectionLike>(connection: &mut C, command: &Command) -> Result<Reply, Unanswered> {
    // Packed at once: a third of what a `Cmd` costs. A cluster's connection reads the key to route by from these bytes.
    let packed = redis::pack_command(command.words());
    reply(connection.req_packed_command(&packed)).map_err(|source| {
        // A broken pipe is what writing to a closed socket ends with, so nothing was sent. But a connection that sends
        // again by itself, as a cluster's does, tells only of its last attempt.
        let only_attempt = connection.supports_pipelining();
        let unsent = never_left(&source) || is_broken_pipe(&source);
        Unanswered { may_have_run: !(only_attempt && unsent), source }
    })
}
