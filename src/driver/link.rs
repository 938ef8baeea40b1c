//! Where the blocking and the async half of the driver differ on the wire, and the loop that runs a procedure in both.
//!
//! What is above the wire is written once, as futures. Those of the blocking half never wait, because what they await
//! blocks its thread instead: [`at_once`] runs them to their end.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use lockshift_wire::{Command, NodeReply, Procedure, Reply};

use super::interrupted::{Interrupted, Unanswered};
use super::run::{NextStep, ProcedureRun};

/// Sends commands and receives their replies.
pub(super) trait Link {
    /// How many servers there are. Procedures that ask for another are refused.
    fn servers(&self) -> usize;

    /// Whether all commands go over one connection to one server that no other procedure uses meanwhile, as WATCH, MULTI
    /// and WAIT need it.
    fn is_own(&self) -> bool;

    /// Sends a command to the server that it is for, and waits for the reply.
    async fn send(&mut self, command: &Command) -> Result<Reply, Unanswered>;

    /// Sends these commands, each to another server, before it waits for any reply.
    async fn round(&mut self, commands: &[Command]) -> Vec<NodeReply>;
}

/// A connection that one procedure at a time may use.
pub(super) trait SharedLink {
    /// The connection, until this is dropped.
    type Borrowed<'a>: Link
    where
        Self: 'a;

    /// The connection, to try to acquire: behind the holders that wait for it.
    async fn for_attempt(&self) -> Self::Borrowed<'_>;

    /// The connection, to renew, release or withdraw: before all attempts that wait for it.
    async fn for_holder(&self) -> Self::Borrowed<'_>;
}

/// Runs `procedure` to its end.
///
/// # Errors
/// [`Interrupted`]: Redis refused, or the connection broke; it says whether anything may have been changed until then.
pub(super) async fn run<P: Procedure>(connection: &mut impl Link, procedure: &P) -> Result<P::Outcome, Interrupted> {
    let mut run = ProcedureRun::new(procedure, connection.servers());
    loop {
        match run.next()? {
            NextStep::Ended(outcome) => return Ok(outcome),
            NextStep::Send(command) => {
                let answer = connection.send(&command).await;
                run.answered(command, answer)?;
            }
            NextStep::Round(commands) => {
                let replies = connection.round(&commands).await;
                run.answered_round(&commands, replies);
            }
        }
    }
}

/// The output of a future of the blocking half.
pub(super) fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("what a blocking connection awaits is there when it returns"),
    }
}
