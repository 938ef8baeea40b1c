//! What an auditor is told: a command that concerns a lock, a script that runs.

use std::sync::Arc;

use super::name::Name;
use crate::monitor::Line;
use crate::wire::{Command, Reply, UnixTime};

/// Something that concerns a lock.
pub(super) struct Told<'a> {
    pub(super) command: Command,
    pub(super) at: UnixTime,
    pub(super) line: u64,
    pub(super) within: Option<u64>,
    pub(super) script: Option<&'a [u8]>,
    pub(super) answer: Option<Reply>,
}

impl Told<'_> {
    pub(super) fn new(line: u64, at: UnixTime, command: Command) -> Self {
        Self { command, at, line, within: None, script: None, answer: None }
    }
}

/// What a connection watches.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) name: Name,
    /// Whether EXEC or DISCARD has ended that.
    pub(super) is_over: bool,
}

/// A script whose calls are being listed.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) client: Arc<str>,
    pub(super) command: Command,
    pub(super) at: UnixTime,
    pub(super) line: u64,
    pub(super) name: Option<Name>,
    /// Its SHA-1, if it is a known one.
    pub(super) known: Option<Vec<u8>>,
    /// Whether a call of it was listed.
    pub(super) has_called: bool,
}

/// Whether a SET says NX.
pub(super) fn is_conditional(line: &Line<'_>) -> bool {
    line.words().skip(3).any(|word| word.quoted().eq_ignore_ascii_case(b"NX"))
}
