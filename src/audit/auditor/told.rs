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
    /// Whether the script is listed to have written what the lock is held by, where that can be told.
    pub(super) has_written: Option<bool>,
    pub(super) answer: Option<Reply>,
}

impl Told<'_> {
    pub(super) fn new(line: u64, at: UnixTime, command: Command) -> Self {
        Self { command, at, line, within: None, script: None, has_written: None, answer: None }
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
    /// The keys to which it is listed to have written; `None` if it has also done what could be either.
    pub(super) written: Option<Vec<Vec<u8>>>,
    /// Those that it is listed to have deleted.
    pub(super) deleted: Vec<Vec<u8>>,
}

impl Running {
    /// Notes one of its calls.
    pub(super) fn note(&mut self, line: &Line<'_>) {
        let (Some(name), Some(key)) = (line.word(0), line.word(1)) else { return };
        let mut name = name.bytes().into_owned();
        name.make_ascii_lowercase();
        match name.as_slice() {
            b"set" | b"setex" | b"psetex" | b"getset" | b"hset" | b"hmset" | b"hincrby" if !is_conditional(line) => {
                self.written.iter_mut().for_each(|written| written.push(key.bytes().into_owned()));
            }
            b"del" | b"unlink" => self.deleted.push(key.bytes().into_owned()),
            b"get" | b"exists" | b"hexists" | b"hget" | b"ttl" | b"pttl" | b"type" | b"expire" | b"pexpire"
            | b"time" => {}
            // Perhaps it has.
            _ => {
                let lock = self.name.as_ref().map(|name| &*name.key);
                self.written = self.written.take().filter(|_| lock != Some(&*key.bytes()));
            }
        }
    }

    /// Whether it has written to this key.
    pub(super) fn has_written(&self, key: &[u8]) -> Option<bool> {
        self.written.as_ref().map(|written| written.iter().any(|other| other == key))
    }
}

/// Whether a SET says NX.
pub(super) fn is_conditional(line: &Line<'_>) -> bool {
    line.words().skip(3).any(|word| word.quoted().eq_ignore_ascii_case(b"NX"))
}
