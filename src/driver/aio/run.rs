//! The loop: a procedure, run over a connection.

use lockshift_wire::{Command, Pending, Procedure, Transcript};

use super::carrier::Carrier;
use crate::driver::host;
use crate::driver::interrupted::Interrupted;

/// Runs `procedure` to its end over `connection`. Dropping this future leaves the procedure where it is.
///
/// # Errors
/// [`Interrupted`]: Redis refused, or the connection broke; it says whether anything may have been changed until then.
pub async fn run<C, P>(connection: &mut C, procedure: &P) -> Result<P::Outcome, Interrupted>
where
    C: Carrier,
    P: Procedure,
{
    let mut redis = Transcript::new();
    loop {
        match procedure.turn(redis.rewind()) {
            Ok(outcome) => return Ok(outcome),
            Err(Pending::Clock) => redis.record_clock(host::reading()),
            Err(Pending::Send(command)) => {
                if usize::from(command.node().0) >= connection.servers() {
                    return Err(Interrupted::elsewhere(command, connection.servers(), &redis));
                }
                match connection.send(&command).await {
                    Ok(reply) => redis.record_reply(reply),
                    Err(unanswered) => return Err(Interrupted::at(command, unanswered, &redis)),
                }
            }
            Err(Pending::Round(commands)) => {
                let is_elsewhere = |command: &&Command| usize::from(command.node().0) >= connection.servers();
                if let Some(command) = commands.iter().find(is_elsewhere) {
                    return Err(Interrupted::elsewhere(command.clone(), connection.servers(), &redis));
                }
                let heard = connection.round(&commands).await;
                commands.iter().zip(heard).for_each(|(command, heard)| redis.record_heard(command.node(), heard));
            }
            Err(Pending::Fault(fault)) => return Err(Interrupted::by(fault, &redis)),
        }
    }
}
