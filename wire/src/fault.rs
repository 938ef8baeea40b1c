//! Why a protocol cannot go on: Redis refused a command, or the reply has a shape that Redis does not give.

use alloc::vec::Vec;
use core::fmt;

use thiserror::Error;

use crate::{Command, NodeReply, Reply};

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
    /// Too few of several servers answered to tell how it stands.
    #[error("{command}: {needed} of {} servers must answer: {}", replies.len(), OfEach(replies))]
    TooFewAnswers {
        /// What was sent to the first of them; the others were sent the same.
        command: Command,
        /// What came back, in the order of the servers.
        replies: Vec<NodeReply>,
        /// How many would have had to answer.
        needed: usize,
    },
}

/// What came from each server, one after the other.
struct OfEach<'a>(&'a [NodeReply]);

impl fmt::Display for OfEach<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, reply) in self.0.iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}#{}: {reply}", place + 1)?;
        }
        Ok(())
    }
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
            Self::Refused { command, .. } | Self::Unexpected { command, .. } | Self::TooFewAnswers { command, .. } => {
                command
            }
        }
    }

    /// Redis' error code (`WRONGTYPE`, `OOM`, `READONLY`), if it refused.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { text, .. } => text.split(' ').next(),
            Self::Unexpected { .. } | Self::TooFewAnswers { .. } => None,
        }
    }
}
