//! A procedure that did not come to its end, and what it may have done until then.

use lockshift_wire::{Command, Entry, Fault, Transcript};
use redis::RedisError;
use thiserror::Error;

use super::connection::Unanswered;

/// A procedure that did not come to its end.
#[derive(Debug, Error)]
#[error("the procedure broke off")]
pub struct Interrupted {
    /// Why.
    #[source]
    pub cause: Cause,
    /// Whether it may have changed the server: by a command that was answered before, or by the unanswered one. If not,
    /// nothing happened.
    pub may_have_acted: bool,
}

/// Why a procedure did not come to its end.
#[derive(Debug, Error)]
pub enum Cause {
    /// Redis refused a command, or answered what no Redis answers.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A command was not answered.
    #[error("no reply to {command}")]
    NoReply {
        /// The command.
        command: Command,
        /// What the `redis` crate says.
        source: RedisError,
    },
}

impl Interrupted {
    pub(super) fn by(fault: Fault, redis: &Transcript) -> Self {
        Self { cause: Cause::Fault(fault), may_have_acted: has_acted(redis) }
    }

    pub(super) fn at(command: Command, unanswered: Unanswered, redis: &Transcript) -> Self {
        let may_have_acted = has_acted(redis) || unanswered.may_have_run && !command.only_reads();
        Self { cause: Cause::NoReply { command, source: unanswered.source }, may_have_acted }
    }
}

fn has_acted(redis: &Transcript) -> bool {
    redis.entries().iter().any(|entry| match entry {
        Entry::Exchange(command, reply) => !command.changed_nothing(reply),
        Entry::Clock(_) => false,
    })
}
