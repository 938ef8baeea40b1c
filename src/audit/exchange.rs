//! One event of a conversation, with its reply.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use super::command_name::{CommandName, NamedCommand};
use super::event::LockEvent;
use super::script_args::keys_of_script;
use super::stamp::{self, DatedValue};
use crate::wire::{CommandWord, Reply, UnixTime};

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
    /// The moments that the values name which it writes and which it read: found once, for the same reason.
    write_names: Option<UnixTime>,
    read_names: Option<UnixTime>,
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
        let written = value_at.and_then(|place| event.command.args().get(place));
        let write_names = written.and_then(|value| stamp::moment(value));
        let read_names = value_in(&reply, &event).and_then(stamp::moment);
        Self(Arc::new(Answered { event, reply, value_at, write_names, read_names }))
    }

    /// What was answered.
    pub(super) fn event(&self) -> &LockEvent {
        &self.0.event
    }

    /// The value that it writes, with the moment that it names.
    pub(super) fn dated_write(&self) -> Option<DatedValue<'_>> {
        self.writes().map(|bytes| DatedValue { bytes, moment: self.write_names })
    }

    /// The value that it read, with the moment that it names.
    pub(super) fn dated_read(&self) -> Option<DatedValue<'_>> {
        self.reads().map(|bytes| DatedValue { bytes, moment: self.read_names })
    }

    /// The value that it writes into the key, if it does.
    pub(super) fn writes(&self) -> Option<&[u8]> {
        self.command.args().get(self.value_at?).map(CommandWord::as_slice)
    }

    /// The value that it read, itself or by a script.
    pub(super) fn reads(&self) -> Option<&[u8]> {
        value_in(&self.reply, &self.event)
    }

    /// Whether it runs a script.
    pub(super) fn is_script(&self) -> bool {
        self.command.is_script()
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
        self.is_script() || self.is_any(&[CommandName::Setnx, CommandName::Msetnx, CommandName::Set])
    }

    /// Whether an attempt begins with it, and nothing else does.
    pub(super) fn begins_attempt(&self) -> bool {
        self.claims() && !self.compares_and_deletes() && (!self.is_script() || self.script.is_some_and(|it| it.claims))
    }

    /// The token of the owner that it names: the first argument that looks like one; otherwise the value that it writes.
    pub(super) fn owner(&self) -> &[u8] {
        let first = if self.is_script() { 2 + keys_of_script(self.command.args()).unwrap_or(0) } else { 1 };
        let words = self.command.args().get(first..).unwrap_or_default();
        // A guard's moments are as long as tokens. What names a holder is its first argument, or nothing is.
        let words = if self.script_of_guard().is_some() { &words[..words.len().min(1)] } else { words };
        words
            .iter()
            .map(CommandWord::as_slice)
            .find(|word| stamp::looks_like_token(word))
            .or(self.writes())
            .unwrap_or_default()
    }

    /// Whether this is the command of this name.
    pub(super) fn is(&self, name: CommandName) -> bool {
        self.command.is(name)
    }

    /// Whether the name of its command is one of these.
    pub(super) fn is_any(&self, names: &[CommandName]) -> bool {
        self.command.is_any(names)
    }

    /// The time to live that it sets, in milliseconds.
    pub(super) fn ttl_ms(&self) -> Option<i64> {
        let args = self.command.args();
        let number = |place: usize| std::str::from_utf8(args.get(place)?).ok()?.parse::<i64>().ok();
        match self.command.name() {
            CommandName::Expire | CommandName::Setex => return number(1)?.checked_mul(1000),
            CommandName::Pexpire | CommandName::Psetex => return number(1),
            CommandName::Set => {}
            _ => return None,
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

/// The value that this command read with this reply.
pub(super) fn value_in<'a>(reply: &'a Reply, event: &LockEvent) -> Option<&'a [u8]> {
    let command = &event.command;
    match reply {
        Reply::Bulk(value) if command.is_any(&[CommandName::Get, CommandName::Getset]) => Some(value),
        Reply::Array(items) if command.is_script() => found_by(event, items).iter().find_map(|item| match item {
            Reply::Bulk(value) => Some(value.as_slice()),
            _ => None,
        }),
        _ => None,
    }
}

/// What of these replies of a script tells what it found: those of a guard begin with the server's time.
pub(super) fn found_by<'a>(event: &LockEvent, items: &'a [Reply]) -> &'a [Reply] {
    if event.script_of_guard().is_some() { items.get(2..).unwrap_or_default() } else { items }
}

fn place_of_value(command: &NamedCommand) -> Option<usize> {
    match command.name() {
        CommandName::Setnx | CommandName::Set | CommandName::Getset | CommandName::Msetnx => Some(1),
        CommandName::Setex | CommandName::Psetex => Some(2),
        // The scripts of the catalogue that claim have the value first among their arguments.
        CommandName::Eval | CommandName::Evalsha => keys_of_script(command.args())?.checked_add(2),
        _ => None,
    }
}
