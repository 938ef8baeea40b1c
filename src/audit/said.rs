//! One command of a conversation, with the reply that the simulated server has given it.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::wire::{Command, Reply, UnixTime};

/// One command of a conversation between a client and a key. A clone shares it: a conversation is kept in several places.
#[derive(Clone, Debug)]
pub(super) struct Said(Arc<Words>);

/// What was said, and what was answered.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) command: Command,
    pub(super) reply: Reply,
    pub(super) at: UnixTime,
    /// The number of its line.
    pub(super) line: u64,
    /// The line of the script that called it, where it was one of a text that nobody here knows.
    pub(super) within: Option<u64>,
    /// Whether its sender is one who asks the server for the time: that names no key, and is heard by no lock.
    pub(super) asks_time: bool,
    /// Which argument is the value that it puts into the key: found once, because it is asked for with every word of
    /// every command that follows.
    value_at: Option<usize>,
}

impl Deref for Said {
    type Target = Words;

    fn deref(&self) -> &Words {
        &self.0
    }
}

impl Said {
    /// A command and its reply.
    pub(super) fn new(
        command: Command,
        reply: Reply,
        at: UnixTime,
        line: u64,
        within: Option<u64>,
        asks_time: bool,
    ) -> Self {
        let value_at = place_of_value(&command);
        Self(Arc::new(Words { command, reply, at, line, within, asks_time, value_at }))
    }

    /// The value that it puts into the key, if it does that.
    pub(super) fn writes(&self) -> Option<&[u8]> {
        self.command.args().get(self.value_at?).map(Vec::as_slice)
    }

    /// The value that it has read, or was told of by a script that has.
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

    /// The lengths of time that a script may have been told: each number that is no moment, in milliseconds and in seconds.
    pub(super) fn told_lengths(&self) -> impl Iterator<Item = Duration> {
        const MOST_DIGITS: usize = 9;
        let keys = if self.is_script() { keys_of_script(self.command.args()) } else { None };
        let told = keys.and_then(|keys| self.command.args().get(keys.checked_add(2)?..)).unwrap_or_default();
        let short = told.iter().filter(|word| word.len() <= MOST_DIGITS);
        let numbers = short.filter_map(|word| std::str::from_utf8(word).ok()?.parse().ok());
        numbers.flat_map(|number| [Duration::from_millis(number), Duration::from_secs(number)])
    }

    /// Whether it is a first command of a try, whatever may have been said before it.
    pub(super) fn claims(&self) -> bool {
        ["SETNX", "MSETNX", "SET", "EVAL", "EVALSHA"].iter().any(|name| self.is(name))
    }

    /// Whether this is the command `name`.
    pub(super) fn is(&self, name: &str) -> bool {
        self.command.is(name)
    }

    /// For how many milliseconds it lets the key live, if it says so.
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

/// How many keys a script is told.
pub(super) fn keys_of_script(args: &[Vec<u8>]) -> Option<usize> {
    std::str::from_utf8(args.get(1)?).ok()?.parse().ok()
}
