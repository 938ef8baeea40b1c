//! A trace, replayed on a simulated server without any protocol: the same commands at the same times.

use thiserror::Error;

use super::{Exchange, Trace};
use crate::sim::{Server, Session};
use crate::wire::{Command, Node, Reply, UnixTime};

/// Where a replay went another way.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// A command was answered otherwise.
    #[error("{}: {command} was answered {expected} in the trace and {actual} now", place(*.step))]
    Reply {
        /// The place of the step; `None` for a command before the first.
        step: Option<usize>,
        /// What was sent.
        command: Command,
        /// The reply in the trace.
        expected: Reply,
        /// The reply now.
        actual: Reply,
    },
    /// The trace speaks to another server than the first.
    #[error("{}: {command} is for another server", place(*.step))]
    OtherServer {
        /// The place of the step; `None` for a command before the first.
        step: Option<usize>,
        /// What would have to be sent.
        command: Command,
    },
    /// The trace has a failover, which no command brings about.
    #[error("step {0} replaces the server by its replica")]
    FailOver(usize),
}

impl Trace {
    /// Sends the commands of the trace to this server, each actor's on a connection of its own, at the times of the
    /// trace, and compares the replies.
    ///
    /// # Errors
    /// [`Mismatch`]: a reply differs, or the trace needs a fault of the server itself.
    pub fn replay(&self, server: &mut Server) -> Result<(), Mismatch> {
        for prior in &self.prelude {
            let at_ms = i64::try_from(prior.ms_before).map_or(i64::MIN, |before| -before);
            let setup = connection(self.actors.len());
            self.send(server, setup, at_ms, (&prior.command, &prior.reply), None)?;
            server.disconnect(setup);
        }
        for (number, step) in self.steps.iter().enumerate() {
            let at_ms = i64::try_from(step.at_ms).unwrap_or(i64::MAX);
            if let (Some(actor), Some(Exchange { command, reply })) = (step.actor, &step.exchange) {
                self.send(server, connection(actor), at_ms, (command, reply), Some(number))?;
            }
            if step.action.is_server_fault() {
                return Err(Mismatch::FailOver(number));
            }
            if let Some(actor) = step.actor.filter(|_| step.action.disconnects()) {
                server.disconnect(connection(actor));
            }
        }
        Ok(())
    }

    fn send(
        &self,
        server: &mut Server,
        session: Session,
        at_ms: i64,
        (command, expected): (&Command, &Reply),
        step: Option<usize>,
    ) -> Result<(), Mismatch> {
        if command.node() != Node::default() {
            return Err(Mismatch::OtherServer { step, command: command.clone() });
        }
        let end = UnixTime::from_nanos(i64::MAX);
        let now = UnixTime::from_millis(self.begin_ms.saturating_add(at_ms)).unwrap_or(end);
        let actual = server.call(session, command, now);
        if actual == *expected {
            return Ok(());
        }
        Err(Mismatch::Reply { step, command: command.clone(), expected: expected.clone(), actual })
    }
}

fn place(step: Option<usize>) -> String {
    step.map_or_else(|| "before the first step".to_owned(), |step| format!("step {step}"))
}

fn connection(place: usize) -> Session {
    Session(u32::try_from(place).unwrap_or(u32::MAX))
}
