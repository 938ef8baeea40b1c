//! A script that runs: MONITOR lists EVAL first, and then the calls that it makes.

use super::event::LockEvent;
use super::scripts::Script;
use super::stamp::looks_like_token;
use crate::guard::GuardScript;
use crate::monitor::Line;
use crate::wire::CommandWord;

/// A script whose calls are being listed.
#[derive(Debug)]
pub(super) struct RunningScript {
    /// The EVAL or EVALSHA.
    pub(super) event: LockEvent,
    pub(super) database: u32,
    /// The key of the lock, if it names keys.
    pub(super) key: Option<Vec<u8>>,
    /// Whether a call of it was listed.
    pub(super) has_called: bool,
    /// The keys that its listed calls wrote; `None` if one of them may have written the lock's key or not.
    written: Option<Vec<CommandWord>>,
    /// The keys that its listed calls deleted.
    pub(super) deleted: Vec<CommandWord>,
    /// What its last listed SET wrote into the lock's key.
    set: Option<CommandWord>,
}

impl RunningScript {
    pub(super) fn new(event: LockEvent, database: u32, key: Option<Vec<u8>>) -> Self {
        Self { event, database, key, has_called: false, written: Some(Vec::new()), deleted: Vec::new(), set: None }
    }

    /// Notes one of its calls.
    pub(super) fn note(&mut self, line: &Line<'_>) {
        let (Some(name), Some(key)) = (line.word(0), line.word(1)) else { return };
        let mut name = name.bytes().into_owned();
        name.make_ascii_lowercase();
        if name == b"set" && self.key.as_deref() == Some(&*key.bytes()) {
            self.set = line.word(2).map(|value| CommandWord::from(&*value.bytes()));
        }
        // A guard looks at the key only after it was refused.
        let shows_refusal = self.event.script_of_guard() == Some(GuardScript::Take);
        match name.as_slice() {
            b"set" | b"setex" | b"psetex" | b"getset" | b"hset" | b"hmset" | b"hincrby"
                if shows_refusal || !is_conditional(line) =>
            {
                self.written.iter_mut().for_each(|written| written.push(CommandWord::from(&*key.bytes())));
            }
            b"get" if shows_refusal => self.written.iter_mut().for_each(Vec::clear),
            b"del" | b"unlink" => {
                self.deleted.extend(line.words().skip(1).map(|key| CommandWord::from(&*key.bytes())));
            }
            b"get" | b"exists" | b"hexists" | b"hget" | b"ttl" | b"pttl" | b"type" | b"expire" | b"pexpire"
            | b"time" => {}
            _ if self.key.as_deref() == Some(&*key.bytes()) => self.written = None,
            _ => {}
        }
    }

    /// The token of the client to which it hands the lock over: it tries for no lock itself, and has written into the key what
    /// its own client has not named.
    pub(super) fn granted(&self, script: &Script) -> Option<&CommandWord> {
        let is_of_another =
            |value: &&CommandWord| !self.event.command.args().contains(value) && looks_like_token(value);
        self.set.as_ref().filter(|_| !script.claims).filter(is_of_another)
    }

    /// Whether it ran to its end: a call of it was listed, or its reply is known.
    pub(super) fn has_run(&self) -> bool {
        self.has_called || self.event.known_reply.is_some() || self.event.is_doubtful
    }

    /// Whether it wrote the key of its lock, if it is a script that excludes other holders and its calls show that.
    pub(super) fn has_written(&self, script: &Script) -> Option<bool> {
        let written = self.written.as_ref().filter(|_| script.excludes && self.has_called)?;
        Some(written.iter().any(|key| self.key.as_ref().is_some_and(|own| own == key)))
    }
}

/// Whether a SET has NX.
pub(super) fn is_conditional(line: &Line<'_>) -> bool {
    line.words().skip(3).any(|word| word.quoted().eq_ignore_ascii_case(b"NX"))
}
