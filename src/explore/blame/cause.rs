//! A cause: a step as far as it tells one way to break a rule from another.

use super::super::outcome::{OperationKind, Outcome};

/// A step, as far as it tells one way to break a rule from another: which protocol took it, what the server ran, what
/// came of it. Not when, nor with which arguments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cause {
    /// The protocol of the client that took it; `None`: clock or server.
    pub by: Option<String>,
    /// What it did.
    pub kind: CauseKind,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CauseKind {
    /// The server ran a command.
    Command {
        /// The command's name: `GETSET`.
        name: String,
        /// The operation that sent it.
        operation: OperationKind,
        /// How the operation ends with it; `None`: it goes on.
        outcome: Option<Outcome>,
    },
    /// Nothing that the server has seen, before the client has sent anything: the client read its clock.
    Unseen,
    /// The client crashed.
    Crash,
    /// The client's lock expired on the server while its lease ran, and no other client had changed it.
    ExpiredEarly,
    /// The client's lease ended, and it went on.
    Overrun,
    /// Time passed.
    Time,
    /// A replica took over.
    Failover,
    /// A command of the client ran after the client had given it up.
    LateRequest,
    /// The client's clock was set.
    ClockSet,
    /// The server restarted, with its data or without.
    ServerRestart,
    /// The server evicted a key.
    Eviction,
    /// The server removed a key in the millisecond of its deadline.
    RemovalAtDeadline,
    /// The server's clock was set.
    ServerClockSet,
}

/// The number that a search gives to a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct CauseId(pub(in super::super) u32);
