//! A protocol that cannot go on: Redis refused a command, or answered what no Redis answers.

use thiserror::Error;

use crate::{Command, Reply};

/// A command and the reply that no protocol can go on from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
pub enum Fault {
    /// Redis refused the command.
    #[error("{command}: {text}")]
    Refused {
        /// What was sent.
        command: Command,
        /// Redis' words, code first.
        text: alloc::string::String,
    },
    /// The reply has a shape that this command never has: not a Redis, or a proxy in between.
    #[error("{command}: unexpected reply {reply}")]
    Unexpected {
        /// What was sent.
        command: Command,
        /// What came back.
        reply: Reply,
    },
}

impl Fault {
    /// The fault of this reply to this command.
    pub fn new(command: Command, reply: Reply) -> Self {
        match reply {
            Reply::Error(text) => Self::Refused { command, text },
            reply @ (Reply::Nil | Reply::Int(_) | Reply::Status(_) | Reply::Bulk(_) | Reply::Array(_)) => {
                Self::Unexpected { command, reply }
            }
        }
    }

    /// The command that was refused or oddly answered.
    pub fn command(&self) -> &Command {
        match self {
            Self::Refused { command, .. } | Self::Unexpected { command, .. } => command,
        }
    }

    /// Redis' error code (`WRONGTYPE`, `OOM`, `READONLY`), if it refused.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { text, .. } => text.split(' ').next(),
            Self::Unexpected { .. } => None,
        }
    }
}
