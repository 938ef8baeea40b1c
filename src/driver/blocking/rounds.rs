//! The loop for many procedures at once: whatever they ask next goes out in one pipeline.

use lockshift_wire::Procedure;
use redis::ConnectionLike;

use crate::driver::connection::reply;
use crate::driver::interrupted::{Interrupted, Unanswered};
use crate::driver::run::{NextStep, ProcedureRun};

/// Runs all procedures to their ends, side by side over one connection to one server. It takes as many round trips as
/// the longest of them alone. For procedures that only read: what one of them did before another broke off is not undone.
///
/// # Errors
/// [`Interrupted`]: Redis refused one of them, or the connection broke. None has an outcome then.
pub fn run_together<C: ConnectionLike, P: Procedure>(
    connection: &mut C,
    procedures: &[P],
) -> Result<Vec<P::Outcome>, Interrupted> {
    let mut runs: Vec<_> = procedures.iter().map(|procedure| (ProcedureRun::new(procedure, 1), None)).collect();
    loop {
        let mut asked = Vec::with_capacity(runs.len());
        let mut packed = Vec::new();
        for (place, (run, outcome)) in runs.iter_mut().enumerate().filter(|(_, (_, outcome))| outcome.is_none()) {
            match run.next()? {
                NextStep::Ended(ended) => *outcome = Some(ended),
                NextStep::Send(command) => {
                    command.pack(&mut packed);
                    asked.push((place, command));
                }
                NextStep::Round(mut commands) => return Err(run.elsewhere(commands.swap_remove(0))),
            }
        }
        if asked.is_empty() {
            return Ok(runs.into_iter().filter_map(|(_, outcome)| outcome).collect());
        }
        let values = match connection.req_packed_commands(&packed, 0, asked.len()) {
            Ok(values) => values.into_iter().map(Ok).collect(),
            Err(source) => vec![Err(source)],
        };
        for ((place, command), value) in asked.into_iter().zip(values) {
            let answer = reply(value).map_err(|source| Unanswered { may_have_run: true, source });
            runs[place].0.answered(command, answer)?;
        }
    }
}
