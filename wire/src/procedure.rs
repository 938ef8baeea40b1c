//! A protocol: a function that is run again from the start after every reply.

use alloc::vec::Vec;

use crate::{Command, Fault, Transcript};

/// Why a protocol left before its end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pending {
    /// It waits for the reply to this command.
    Send(Command),
    /// It waits to hear of these commands, each for another server, all of them under way at the same time.
    Round(Vec<Command>),
    /// It waits to be told the time, on both clocks.
    Clock,
    /// It waits for nothing: it cannot go on.
    Fault(Fault),
}

/// One run of a protocol: its outcome, or what it waits for.
pub type Turn<T> = Result<T, Pending>;

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
}

impl<T, F: Fn(&mut Transcript) -> Turn<T>> Procedure for F {
    type Outcome = T;

    fn turn(&self, redis: &mut Transcript) -> Turn<T> {
        self(redis)
    }
}
