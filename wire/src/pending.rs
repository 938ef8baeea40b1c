//! Why a protocol stopped before its end: what it waits for, or the fault that ended it.

use alloc::vec::Vec;

use crate::{Command, Fault};

/// What a protocol waits for, or why it cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pending {
    /// The reply to this command.
    Send(Command),
    /// A response from each of these servers: all commands are sent at the same time, each to another server.
    Round(Vec<Command>),
    /// The time, on both clocks.
    Clock,
    /// Nothing: the protocol cannot go on.
    Fault(Fault),
}

/// One run of a protocol: its outcome, or what it waits for.
pub type Turn<T> = Result<T, Pending>;
