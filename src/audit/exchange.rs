//! One event of a conversation, with its reply.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use super::event::LockEvent;
use super::script_args::keys_of_script;
use super::stamp;
use crate::wire::{Command, Reply};

/// An event with its reply. Cloning shares it, because a conversation is kept in several places.
#[derive(Clone, Debug)]
pub(super) struct LockExchange(Arc<Answered>);

/// An event with its reply.
#[derive(Debug)]
pub(super) struct Answered {
    event: LockEvent,
    pub(super) reply: Reply,
    /// Which argument is the value that it writes: found once, because every later command asks for it.
    value_at: Option<usize>,
}

impl Deref for LockExchange {
    type Target = Answered;

    fn deref(&self) -> &Answered {
        &self.0
    }
}

impl Deref for Answered {
    type Target = LockEvent;

    fn deref(&self) -> &LockEvent {
        &self.event
    }
}

impl LockExchange {
    /// This event, answered with this reply.
    pub(super) fn new(event: LockEvent, reply: Reply) -> Self {
        let value_at = place_of_value(&event.command);
        Self(Arc::new(Answered { event, reply, value_at }))
    }

    /// The value that it writes into the key, if it does.
    pub(super) fn writes(&self) -> Option<&[u8]> {
        self.command.args().get(self.value_at?).map(Vec::as_slice)
    }

    /// The value that it read, itself or by a script.
    pub(super) fn reads(&self) -> Option<&[u8]> {
        match &self.reply {
            Reply::Bulk(value) if self.is("GET") || self.is("GETSET") => Some(value),
            Reply::Array(items) if self.is_script() => items.iter().find_map(|item| match item {
                Reply::Bulk(value) => Some(value.as_slice()),
                _ => None,
            }),
            _ => None,
        }
    }

    /// Whether it runs a script.
    pub(super) fn is_script(&self) -> bool {
        self.is("EVAL") || self.is("EVALSHA")
    }

    /// The lengths of time among a script's arguments: each number that is not a timestamp, as milliseconds and as seconds.
    pub(super) fn script_lengths(&self) -> impl Iterator<Item = Duration> {
        const MOST_DIGITS: usize = 9;
        let keys = if self.is_script() { keys_of_script(self.command.args()) } else { None };
        let arguments = keys.and_then(|keys| self.command.args().get(keys.checked_add(2)?..)).unwrap_or_default();
        let short = arguments.iter().filter(|word| word.len() <= MOST_DIGITS);
        let numbers = short.filter_map(|word| std::str::from_utf8(word).ok()?.parse().ok());
        numbers.flat_map(|number| [Duration::from_millis(number), Duration::from_secs(number)])
    }

    /// Whether an attempt can begin with it, whatever came before.
    pub(super) fn claims(&self) -> bool {
        ["SETNX", "MSETNX", "SET", "EVAL", "EVALSHA"].iter().any(|name| self.is(name))
    }

    /// Whether an attempt begins with it, and nothing else does.
    pub(super) fn begins_attempt(&self) -> bool {
        self.claims() && !self.compares_and_deletes() && (!self.is_script() || self.script.is_some_and(|it| it.claims))
    }

    /// The token of the owner that it names: the first argument that looks like one; otherwise the value that it writes.
    pub(super) fn owner(&self) -> &[u8] {
        let first = if self.is_script() { 2 + keys_of_script(self.command.args()).unwrap_or(0) } else { 1 };
        let words = self.command.args().get(first..).unwrap_or_default();
        words.iter().map(Vec::as_slice).find(|word| stamp::is_token(word)).or(self.writes()).unwrap_or_default()
    }

    /// Whether this is the command `name`.
    pub(super) fn is(&self, name: &str) -> bool {
        self.command.is(name)
    }

    /// The time to live that it sets, in milliseconds.
    pub(super) fn ttl_ms(&self) -> Option<i64> {
        let args = self.command.args();
        let number = |place: usize| std::str::from_utf8(args.get(place)?).ok()?.parse::<i64>().ok();
        if self.is("EXPIRE") || self.is("SETEX") {
            return number(1)?.checked_mul(1000);
        }
        if self.is("PEXPIRE") || self.is("PSETEX") {
            return number(1);
        }
        if !self.is("SET") {
            return None;
        }
        (2..args.len()).find_map(|place| {
            let is = |option: &str| args[place].eq_ignore_ascii_case(option.as_bytes());
            if is("EX") {
                number(place + 1)?.checked_mul(1000)
            } else if is("PX") {
                number(place + 1)
            } else if is("EXAT") {
                Some(number(place + 1)?.checked_mul(1000)? - self.at.as_millis())
            } else if is("PXAT") {
                Some(number(place + 1)? - self.at.as_millis())
            } else {
                None
            }
        })
    }
}

fn place_of_value(command: &Command) -> Option<usize> {
    let is_one_of = |names: &[&str]| names.iter().any(|name| command.is(name));
    if is_one_of(&["SETNX", "SET", "GETSET", "MSETNX"]) {
        Some(1)
    } else if is_one_of(&["SETEX", "PSETEX"]) {
        Some(2)
    } else if is_one_of(&["EVAL", "EVALSHA"]) {
        // The scripts of the catalogue that claim have the value first among their arguments.
        keys_of_script(command.args())?.checked_add(2)
    } else {
        None
    }
}
