//! One command each to several servers at once, and what came back from each of them.

use core::fmt;

use crate::{Command, Reply};

/// What came back from one of several servers. With one server, silence ends a protocol; with several, the protocol
/// counts it like a reply.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeReply {
    /// A reply, which may be an error reply.
    Reply(Reply),
    /// Nothing. The command may have run all the same.
    NoReply(NoReply),
}

/// Why nothing came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoReply {
    /// The connection to it is broken, or was never open.
    Unreachable,
    /// It did not answer in time.
    TooSlow,
}

impl NodeReply {
    /// The reply, if there is one.
    pub fn reply(&self) -> Option<&Reply> {
        match self {
            Self::Reply(reply) => Some(reply),
            Self::NoReply(_) => None,
        }
    }

    /// Whether the server is surely as it was before `command`, to which this is the answer.
    pub fn changed_nothing(&self, command: &Command) -> bool {
        match self {
            Self::Reply(reply) => command.changed_nothing(reply),
            Self::NoReply(_) => command.only_reads(),
        }
    }
}

impl fmt::Display for NodeReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reply(reply) => reply.fmt(f),
            Self::NoReply(reason) => reason.fmt(f),
        }
    }
}

impl fmt::Display for NoReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "unreachable",
            Self::TooSlow => "too slow",
        })
    }
}
