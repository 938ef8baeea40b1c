//! A procedure under way: what it needs next, and what came of that. It sends nothing.

use lockshift_wire::{Command, NodeReply, Pending, Procedure, Reply, Transcript};

use super::host;
use super::interrupted::{Interrupted, Unanswered};

/// A procedure under way, on so many servers.
pub(super) struct ProcedureRun<'a, P: Procedure> {
    procedure: &'a P,
    servers: usize,
    redis: Transcript,
}

/// What a procedure needs next.
pub(super) enum NextStep<T> {
    /// Nothing more: this is its outcome.
    Ended(T),
    /// The reply to this command.
    Send(Command),
    /// What comes back for these, each from another server.
    Round(Vec<Command>),
}

impl<'a, P: Procedure> ProcedureRun<'a, P> {
    pub(super) fn new(procedure: &'a P, servers: usize) -> Self {
        Self { procedure, servers, redis: Transcript::new() }
    }

    /// What it needs next; the clock is read here.
    ///
    /// # Errors
    /// Redis refused, or the procedure asks for a server that is not there.
    pub(super) fn next(&mut self) -> Result<NextStep<P::Outcome>, Interrupted> {
        let step = loop {
            match self.procedure.turn(self.redis.rewind()) {
                Ok(outcome) => return Ok(NextStep::Ended(outcome)),
                Err(Pending::Clock) => self.redis.record_clock(host::reading()),
                Err(Pending::Send(command)) => break NextStep::Send(command),
                Err(Pending::Round(commands)) => break NextStep::Round(commands),
                Err(Pending::Fault(fault)) => return Err(Interrupted::by(fault, &self.redis)),
            }
        };
        let commands = match &step {
            NextStep::Ended(_) => &[],
            NextStep::Send(command) => std::slice::from_ref(command),
            NextStep::Round(commands) => commands,
        };
        match commands.iter().find(|command| usize::from(command.node().0) >= self.servers) {
            Some(command) => Err(self.elsewhere(command.clone())),
            None => Ok(step),
        }
    }

    /// This command is for a server that is not there.
    pub(super) fn elsewhere(&self, command: Command) -> Interrupted {
        Interrupted::elsewhere(command, self.servers, &self.redis)
    }

    /// Notes what came of a command.
    ///
    /// # Errors
    /// No reply came.
    pub(super) fn answered(&mut self, command: Command, answer: Result<Reply, Unanswered>) -> Result<(), Interrupted> {
        match answer {
            Ok(reply) => self.redis.record_reply(reply),
            Err(unanswered) => return Err(Interrupted::at(command, unanswered, &self.redis)),
        }
        Ok(())
    }

    /// Notes what came back for each command of a round.
    pub(super) fn answered_round(&mut self, commands: &[Command], replies: Vec<NodeReply>) {
        commands.iter().zip(replies).for_each(|(command, reply)| self.redis.record_node_reply(command.node(), reply));
    }
}
