//! What the guard answers to a command, and what there is to report of it.

use std::time::Duration;

use crate::wire::{Command, Reply};

/// What becomes of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// It goes to the server as it is, and the server's reply to the client.
    Pass,
    /// This command goes to the server in its place, and the server's reply to the client.
    Send(Command),
    /// It does not go to the server; the client gets this reply.
    Reply(Reply),
}

/// What happened to a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// The client acquired a free lock, for this long.
    Acquired(Duration),
    /// The client took over an expired lock, for this long.
    TookOver(Duration),
    /// Another client holds the lock.
    Refused,
    /// The client released its lock.
    Released,
    /// The client released a lock that it had lost: nothing was deleted.
    ReleasedLost,
    /// A client that holds nothing by this connection sent DEL: nothing was deleted.
    DelIgnored,
    /// An attempt began while the connection holds the lock: several clients share it, or a holder has not released.
    AttemptWhileHolding,
    /// The guard has extended the client's lock.
    Renewed,
    /// The guard could not extend the client's lock: another client has overwritten or deleted it.
    Lost,
    /// The client's connection ended while it held the lock. Its lease has to end it.
    HolderDisconnected,
}
