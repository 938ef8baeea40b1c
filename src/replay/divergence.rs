//! Where a real Redis went another way than the trace.

use thiserror::Error;

use crate::driver::Interrupted;
use crate::wire::{Command, Key, Reply, Ttl};

/// Where a real Redis went another way than the trace, or why it was not asked to.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Divergence {
    /// The schedule has a fault of the server itself.
    #[error("no command replaces a server by its replica")]
    ServerFault {
        /// The place of the step.
        step: usize,
    },
    /// The schedule speaks to more independent servers than there are.
    #[error("the schedule speaks to {needed} servers, and there are {servers}")]
    SeveralServers {
        /// To how many it speaks.
        needed: u8,
        /// How many there are.
        servers: u8,
    },
    /// The key is in use, and what is in it would be destroyed.
    #[error("the key `{0}` exists already")]
    KeyInUse(Key),
    /// A command was answered otherwise.
    #[error("{command} was answered {actual}, and {expected} in the trace")]
    Reply {
        /// What was sent.
        command: Command,
        /// The reply in the trace.
        expected: Reply,
        /// The reply now.
        actual: Reply,
    },
    /// After a command a key had another time to live.
    #[error("after {command}, PTTL {key} is {}, and {} in the trace", actual.0, expected.0)]
    TimeToLive {
        /// What was sent.
        command: Command,
        /// Which key.
        key: Key,
        /// What PTTL says in the trace.
        expected: Ttl,
        /// What it says now.
        actual: Ttl,
    },
    /// At the end a key held something else.
    #[error("at the end, {command} was answered {actual}, and {expected} in the trace")]
    Contents {
        /// What was asked.
        command: Command,
        /// What the simulated server says.
        expected: Reply,
        /// What the real one says.
        actual: Reply,
    },
    /// The server cannot be reached.
    #[error(transparent)]
    Unreachable(#[from] redis::RedisError),
    /// A command was not answered.
    #[error(transparent)]
    Unanswered(#[from] Interrupted),
}
