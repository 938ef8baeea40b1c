//! The loop for many procedures at once: whatever they ask next goes out in one pipeline.

use lockshift_wire::{Command, Pending, Procedure, Reading, Transcript};
use redis::ConnectionLike;

use crate::driver::connection::reply;
use crate::driver::host;
use crate::driver::interrupted::{Interrupted, Unanswered};

/// Runs all procedures to their ends, side by side over one connection to one server. It takes as many round trips as
/// the longest of them alone. For procedures that only read: what one of them did before another broke off is not undone.
///
/// # Errors
/// [`Interrupted`]: Redis refused one of them, or the connection broke. None has an outcome then.
pub fn run_together<C: ConnectionLike, P: Procedure>(
    connection: &mut C,
    procedures: &[P],
) -> Result<Vec<P::Outcome>, Interrupted> {
    let mut runs: Vec<Run<'_, P>> = procedures.iter().map(Run::of).collect();
    loop {
        let now = host::reading();
        let mut asked = Vec::with_capacity(runs.len());
        let mut packed = Vec::new();
        for (place, run) in runs.iter_mut().enumerate() {
            if let Some(command) = run.question(now)? {
                packed.extend_from_slice(&redis::pack_command(command.words()));
                asked.push((place, command));
            }
        }
        if asked.is_empty() {
            return Ok(runs.into_iter().filter_map(|run| run.outcome).collect());
        }
        let values = match connection.req_packed_commands(&packed, 0, asked.len()) {
            Ok(values) => values,
            Err(source) => {
                let (place, command) = asked.swap_remove(0);
                let unanswered = Unanswered { may_have_run: true, source };
                return Err(Interrupted::at(command, unanswered, &runs[place].redis));
            }
        };
        for ((place, _), value) in asked.into_iter().zip(values) {
            runs[place].redis.record_reply(reply(Ok(value)).expect("a value is a reply"));
        }
    }
}

/// One procedure on its way.
struct Run<'a, P: Procedure> {
    procedure: &'a P,
    redis: Transcript,
    outcome: Option<P::Outcome>,
}

impl<'a, P: Procedure> Run<'a, P> {
    fn of(procedure: &'a P) -> Self {
        Self { procedure, redis: Transcript::new(), outcome: None }
    }

    /// What it asks next; `None` at its end.
    fn question(&mut self, now: Reading) -> Result<Option<Command>, Interrupted> {
        while self.outcome.is_none() {
            match self.procedure.turn(self.redis.rewind()) {
                Ok(outcome) => self.outcome = Some(outcome),
                Err(Pending::Clock) => self.redis.record_clock(now),
                Err(Pending::Send(command)) => return Ok(Some(command)),
                Err(Pending::Round(mut commands)) => {
                    return Err(Interrupted::elsewhere(commands.swap_remove(0), 1, &self.redis));
                }
                Err(Pending::Fault(fault)) => return Err(Interrupted::by(fault, &self.redis)),
            }
        }
        Ok(None)
    }
}
