//! A protocol: a function that is run again from the start after every reply.

use thiserror::Error;

use crate::{Command, Fault, NodeReply, Pending, Reading, Reply, Transcript, Turn};

/// A protocol from first command to outcome.
///
/// A procedure must be a function of its transcript and nothing else: given the same replies it asks the same
/// questions. The transcript checks that and panics where it is not so.
pub trait Procedure {
    /// What the protocol ends with.
    type Outcome;

    /// Runs from the start, over what is recorded, to the first thing that is not.
    ///
    /// # Errors
    /// [`Pending`]: what the protocol waits for, or the fault that ended it.
    fn turn(&self, redis: &mut Transcript) -> Turn<Self::Outcome>;

    /// Runs to its end at the moment `now`; `answer` answers each command at once. Where it does not, the run ends.
    ///
    /// ```
    /// use lockshift_wire::{Key, Procedure, Reading, Reply, Transcript, UnixTime, MonoTime};
    ///
    /// let now = Reading { wall: UnixTime::from_nanos(0), mono: MonoTime::since_origin(std::time::Duration::ZERO) };
    /// let key = Key::from("bakery");
    /// let ticket = |redis: &mut Transcript| redis.incr(&key);
    /// assert_eq!(ticket.run_at(now, |_| Some(Reply::Int(7))), Ok(7));
    /// ```
    ///
    /// # Errors
    /// [`Unfinished`]: a fault ended it, or a command was not answered.
    fn run_at(
        &self,
        now: Reading,
        mut answer: impl FnMut(&Command) -> Option<Reply>,
    ) -> Result<Self::Outcome, Unfinished>
    where
        Self: Sized,
    {
        let mut redis = Transcript::new();
        loop {
            match self.turn(redis.rewind()) {
                Ok(outcome) => return Ok(outcome),
                Err(Pending::Clock) => redis.record_clock(now),
                Err(Pending::Send(command)) => redis.record_reply(answer(&command).ok_or(Unfinished::Unanswered)?),
                Err(Pending::Round(commands)) => {
                    for command in commands {
                        let reply = answer(&command).ok_or(Unfinished::Unanswered)?;
                        redis.record_node_reply(command.node(), NodeReply::Reply(reply));
                    }
                }
                Err(Pending::Fault(fault)) => return Err(Unfinished::Fault(fault)),
            }
        }
    }
}

/// Why a protocol did not reach its end.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unfinished {
    /// It could not go on from a reply.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A command was not answered.
    #[error("a command was not answered")]
    Unanswered,
}

impl<T, F: Fn(&mut Transcript) -> Turn<T>> Procedure for F {
    type Outcome = T;

    fn turn(&self, redis: &mut Transcript) -> Turn<T> {
        self(redis)
    }
}
