//! What the guard answers to a command, and what there is to report of it.

use std::time::Duration;

use crate::wire::{Command, Reply};

/// Why an attempt was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusedBecause {
    /// Another client holds the lock.
    Held,
    /// The key was free or had expired when the guard judged it, and another client was faster: both would have gone on.
    Overtaken,
    /// The lease that the client asked for had ended before the guard could write.
    TooLate,
    /// The client has ended its side of the connection, so it could not release the lock.
    ClientLeft,
}

impl RefusedBecause {
    /// Its name in events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Overtaken => "overtaken",
            Self::TooLate => "too_late",
            Self::ClientLeft => "client_left",
        }
    }
}

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
    /// The client does not get the lock.
    Refused(RefusedBecause),
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
    /// The client has extended its lock, for this long from now.
    Extended(Duration),
    /// The client's lock could not be extended: another client has overwritten or deleted it.
    Lost,
    /// The client's connection ended while it held the lock. Its lease has to end it.
    HolderDisconnected,
    /// The client's connection ended before the client learned that it had acquired the lock: what the guard had written was
    /// deleted, if it was still there.
    Withdrawn,
    /// The connection to the server ended while the guard wrote the client's lock, so it may have been written. The client was
    /// not answered. Its lease has to end it.
    OutcomeUnknown,
}

impl Note {
    /// Its name in events.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Acquired(_) => "acquired",
            Self::TookOver(_) => "took_over",
            Self::Refused(_) => "refused",
            Self::Released => "released",
            Self::ReleasedLost => "released_lost",
            Self::DelIgnored => "del_ignored",
            Self::AttemptWhileHolding => "attempt_while_holding",
            Self::Renewed => "renewed",
            Self::Extended(_) => "extended",
            Self::Lost => "lost",
            Self::HolderDisconnected => "holder_disconnected",
            Self::Withdrawn => "withdrawn",
            Self::OutcomeUnknown => "outcome_unknown",
        }
    }
}
