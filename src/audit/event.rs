//! One command that concerns a lock: who sent it, when, and what is known of its reply.

use std::sync::Arc;

use super::command_name::NamedCommand;
use super::scripts::Script;
use crate::guard::GuardScript;
use crate::wire::{Command, Reply, UnixTime};

/// One command that concerns a lock.
#[derive(Clone, Debug)]
pub(super) struct LockEvent {
    /// The client that sent it, as far as the connection tells.
    pub(super) client: Arc<str>,
    /// The connection. Several may belong to one client, and one to several clients.
    pub(super) connection: Arc<str>,
    /// Whether a token says more about the client than the connection.
    pub(super) by_token: bool,
    pub(super) command: NamedCommand,
    pub(super) at: UnixTime,
    /// The latest moment at which the server may have run it, if that is not `at`.
    pub(super) until: UnixTime,
    /// Whether its reply is missing, or its place among the commands that were under way with it is not known.
    pub(super) is_doubtful: bool,
    /// The number of its line.
    pub(super) line: u64,
    /// The line of the script that called it, if that script is unknown: its calls then count as commands of the client.
    pub(super) within: Option<u64>,
    /// Whether the client asks the server for the time. TIME names no key, so no lock observes it.
    pub(super) asks_time: bool,
    /// The script that it runs, if a known protocol has it.
    pub(super) script: Option<&'static Script>,
    /// Whether the listed calls of that script wrote the lock's key, where they show it.
    pub(super) has_written: Option<bool>,
    /// Whether it changes keys without regard to locks, as FLUSHALL and RENAME do: no protocol sends it.
    pub(super) is_administrative: bool,
    /// Whether it is an earlier look that is delivered late.
    pub(super) is_look: bool,
    /// The reply, if it is known; otherwise the simulated server is asked.
    pub(super) known_reply: Option<Reply>,
}

impl LockEvent {
    /// Whether it runs a script that only compares and deletes, as most releases of a token do.
    pub(super) fn compares_and_deletes(&self) -> bool {
        self.script.is_some_and(|script| script.refusal.is_some())
    }

    /// Which of a guard's scripts it runs, if it does.
    pub(super) fn script_of_guard(&self) -> Option<GuardScript> {
        self.script.and_then(|script| script.of_guard)
    }

    /// Whether it runs a script that changes nothing unless the lock is its client's own.
    pub(super) fn acquires_nothing(&self) -> bool {
        self.compares_and_deletes() || self.script_of_guard().is_some_and(|script| script.moments_at().is_none())
    }

    /// A command of the client of this connection, of which nothing else is known.
    pub(super) fn new(client: Arc<str>, command: Command, at: UnixTime, line: u64) -> Self {
        Self {
            connection: client.clone(),
            by_token: true,
            client,
            command: command.into(),
            at,
            until: at,
            is_doubtful: false,
            line,
            within: None,
            asks_time: false,
            script: None,
            has_written: None,
            is_administrative: false,
            is_look: false,
            known_reply: None,
        }
    }
}
