//! A procedure that was interrupted, and what it may have changed until then.

use std::io;

use lockshift_wire::{Command, Entry, Fault, Key, NoReply, NodeReply, Reply, Transcript};
use redis::RedisError;
use thiserror::Error;

use super::connection::{ends_its_connection, never_left};
use super::events::ACQUIRE;

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
#[non_exhaustive]
pub enum Cause {
    /// Redis refused a command, or answered what no Redis answers.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The lock needs more servers than are connected: the command was not sent.
    #[error("{command}: it is for server #{server}, and {connected} are connected")]
    NoSuchServer {
        /// The command.
        command: Command,
        /// For which server it is, counted from 1.
        server: usize,
        /// How many are connected.
        connected: usize,
    },
    /// A command was not answered.
    #[error("no reply to {command}")]
    NoReply {
        /// The command.
        command: Command,
        /// What the `redis` crate says.
        source: RedisError,
    },
}

/// A command that no reply came to.
#[derive(Debug, Error)]
#[error("no reply came")]
pub struct Unanswered {
    /// What the `redis` crate says.
    #[source]
    pub source: RedisError,
    /// Whether the server may have run it all the same.
    pub may_have_run: bool,
}

impl Unanswered {
    /// What came back, where one of several servers is asked alone.
    pub(super) fn of_node_reply(reply: NodeReply) -> Result<Reply, Self> {
        let kind = match reply {
            NodeReply::Reply(reply) => return Ok(reply),
            NodeReply::NoReply(NoReply::Unreachable) => io::ErrorKind::NotConnected,
            NodeReply::NoReply(NoReply::TooSlow) => io::ErrorKind::TimedOut,
        };
        Err(Self { source: io::Error::from(kind).into(), may_have_run: true })
    }
}

/// The answer of one of several servers, where silence is an answer too.
pub(super) fn node_reply(answer: Result<Reply, RedisError>) -> NodeReply {
    match answer {
        Ok(reply) => NodeReply::Reply(reply),
        Err(error) if error.is_timeout() => NodeReply::NoReply(NoReply::TooSlow),
        Err(_) => NodeReply::NoReply(NoReply::Unreachable),
    }
}

impl Interrupted {
    /// The procedure asks for a server that is not there.
    pub(super) fn elsewhere(command: Command, servers: usize, redis: &Transcript) -> Self {
        let server = usize::from(command.node().0) + 1;
        let cause = Cause::NoSuchServer { command, server, connected: servers };
        Self { cause, may_have_acted: has_acted(redis) }
    }

    pub(super) fn by(fault: Fault, redis: &Transcript) -> Self {
        Self { cause: Cause::Fault(fault), may_have_acted: has_acted(redis) }
    }

    pub(super) fn at(command: Command, unanswered: Unanswered, redis: &Transcript) -> Self {
        let may_have_acted = has_acted(redis) || unanswered.may_have_run && !command.only_reads();
        Self { cause: Cause::NoReply { command, source: unanswered.source }, may_have_acted }
    }

    /// Whether the connection broke that the command was sent on: the next command finds another one, if it finds any. Not
    /// where none could be opened.
    pub(super) fn ends_the_connection(&self) -> bool {
        match &self.cause {
            Cause::NoReply { source, .. } => ends_its_connection(source) && !never_left(source),
            Cause::Fault(_) | Cause::NoSuchServer { .. } => false,
        }
    }
}

/// Logs that what was to be `done` after an attempt was not.
pub(super) fn log_undone(key: &Key, done: &str, ended: &Result<(), Interrupted>) {
    if let Err(interrupted) = ended {
        log::warn!(target: ACQUIRE, "lock key `{key}`: could not {done}: {}", interrupted.cause);
    }
}

/// Whether anything that was sent until now may have changed the server.
pub(super) fn has_acted(redis: &Transcript) -> bool {
    redis.entries().iter().any(Entry::may_have_acted)
}

#[test]
fn what_was_sent_may_have_acted_unless_it_only_reads_or_was_not_run() {
    let (set, get) = (Command::new("SET").arg("k").arg("v"), Command::new("GET").arg("k"));
    let mut acted = Transcript::new();
    let _ = acted.send(set.clone());
    acted.record_reply(Reply::ok());
    for (before, command, may_have_run, may_have_acted) in [
        (&Transcript::new(), &set, true, true),
        (&Transcript::new(), &set, false, false),
        (&Transcript::new(), &get, true, false),
        (&acted, &get, true, true),
        (&acted, &set, false, true),
    ] {
        let source = std::io::Error::from(std::io::ErrorKind::ConnectionReset).into();
        let interrupted = Interrupted::at(command.clone(), Unanswered { source, may_have_run }, before);
        assert_eq!(interrupted.may_have_acted, may_have_acted, "{command}, {may_have_run}");
    }
}
