//! One protocol run over what a client has sent and was answered: whether the client could speak it, and where it is.

use crate::legacy::Lock;
use crate::lock::{Acquired, Locker};
use crate::wire::{Command, CommandWord, MonoTime, Pending, Reading, Reply, Script, Transcript, UnixTime};
use std::borrow::Cow;
use std::time::Duration;

use super::decision::{Decision, time};
use super::playing::{OWNER, last_value};

/// A clock for runs whose next step does not depend on the clock: the answers were chosen so.
const ANY_CLOCK: Reading = Reading {
    wall: match UnixTime::from_secs(1_800_000_000) {
        Some(moment) => moment,
        None => panic!("2027 is before 2262"),
    },
    mono: MonoTime::since_origin(Duration::ZERO),
};

/// A protocol in the middle of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ProtocolRun {
    /// The place of its dialect in the rule.
    pub(super) member: usize,
    /// What the protocol was answered, in its own words.
    pub(super) transcript: Transcript,
    /// The client's words and the protocol's for the same value.
    words: Vec<(CommandWord, CommandWord)>,
}

/// A protocol at the start of an attempt, with the command that it sends first.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    run: ProtocolRun,
    expected: Vec<CommandWord>,
}

impl Opening {
    /// The protocol in this place of the rule; `None` if it sends nothing.
    pub(super) fn of(member: usize, lock: &Lock) -> Option<Self> {
        let mut run = ProtocolRun { member, transcript: Transcript::new(), words: Vec::new() };
        let expected = run.next_command(lock)?;
        Some(Self { run, expected: canonical(&expected).into_owned() })
    }

    /// Whether the client's command could be the first one, by its name.
    pub(super) fn may_be(&self, command: &Command) -> bool {
        let name = if command.is("EVAL") { b"EVALSHA" } else { command.name() };
        name.eq_ignore_ascii_case(&self.expected[0])
    }

    /// Begins with the client's command; `None` if the protocol would not send it first. `members` are the rule's.
    pub(super) fn accept(&self, members: &[Lock], command: &Command) -> Option<ProtocolRun> {
        let words = matched(&members[self.run.member], &self.expected, &canonical(command))?;
        Some(ProtocolRun { words, ..self.run.clone() })
    }
}

impl ProtocolRun {
    /// Goes on to the client's command, TIME apart, which names no key; `None` if the protocol would not send it now.
    pub(super) fn accept(mut self, lock: &Lock, command: &Command) -> Option<Self> {
        let expected = self.next_command(lock)?;
        self.words.extend(matched(lock, &canonical(&expected), &canonical(command))?);
        Some(self)
    }

    /// The command that the protocol sends now, TIME apart; `None` if it has ended.
    fn next_command(&mut self, lock: &Lock) -> Option<Command> {
        loop {
            match lock.acquire(&OWNER, self.transcript.rewind()) {
                Err(Pending::Clock) => self.transcript.record_clock(ANY_CLOCK),
                Err(Pending::Send(expected)) if expected.is("TIME") => {
                    self.transcript.record_reply(time(ANY_CLOCK.wall))
                }
                Err(Pending::Send(expected)) => return Some(expected),
                Ok(_) | Err(Pending::Fault(_) | Pending::Round(_)) => return None,
            }
        }
    }

    /// The client was answered. How the attempt has ended, if it has.
    pub(super) fn answered(&mut self, lock: &Lock, reply: &Reply) -> Option<Decision> {
        self.transcript.record_reply(self.in_its_words(reply));
        loop {
            match lock.acquire(&OWNER, self.transcript.rewind()) {
                Err(Pending::Clock) => self.transcript.record_clock(ANY_CLOCK),
                Err(Pending::Send(command)) if command.is("TIME") => self.transcript.record_reply(time(ANY_CLOCK.wall)),
                Err(Pending::Send(_)) => return None,
                Ok(Acquired::Won(_)) => return Some(Decision::Win),
                Ok(Acquired::Held(_)) | Err(Pending::Fault(_) | Pending::Round(_)) => return Some(Decision::Lose),
            }
        }
    }

    /// The value that the protocol was answered last, in the client's words.
    pub(super) fn seen(&self) -> Option<&[u8]> {
        let seen = last_value(&self.transcript)?;
        Some(self.words.iter().find(|(_, own)| own == seen).map_or(seen, |(clients, _)| clients.as_slice()))
    }

    /// The client's own value, as far as it has sent one.
    pub(super) fn value(&self) -> Option<&[u8]> {
        self.words.last().map(|(clients, _)| clients.as_slice())
    }

    /// The reply with the protocol's words in place of the client's.
    pub(super) fn in_its_words(&self, reply: &Reply) -> Reply {
        let Reply::Bulk(value) = reply else { return reply.clone() };
        let own = self.words.iter().find(|(clients, _)| clients == value);
        Reply::Bulk(own.map_or_else(|| value.clone(), |(_, own)| own.to_vec()))
    }
}

/// The client's word and the protocol's for each value in the protocol's command; `None` if the client's is another command.
fn matched(lock: &Lock, expected: &[CommandWord], actual: &[CommandWord]) -> Option<Vec<(CommandWord, CommandWord)>> {
    if expected.len() != actual.len() {
        return None;
    }
    let form = &lock.dialect().form;
    let value_at = value_at(&expected[0]);
    let mut words = Vec::new();
    for (place, (expected, actual)) in expected.iter().zip(actual).enumerate() {
        if Some(place) == value_at && form.matches(actual) {
            words.push((actual.clone(), expected.clone()));
        } else if expected != actual && (place < 2 || Some(place) == value_at || !are_lengths(expected, actual)) {
            return None;
        }
    }
    Some(words)
}

/// Which word of a command is the value that it writes.
fn value_at(name: &[u8]) -> Option<usize> {
    match name {
        b"SETNX" | b"SET" | b"GETSET" => Some(2),
        b"SETEX" => Some(3),
        b"EVALSHA" => Some(4),
        _ => None,
    }
}

/// Whether both are lengths of time, which the guard does not know of its client.
fn are_lengths(one: &[u8], other: &[u8]) -> bool {
    [one, other].iter().all(|word| !word.is_empty() && word.len() < 19 && word.iter().all(u8::is_ascii_digit))
}

/// The words, with names and options in capitals, the condition of SET first, and scripts by their hash.
fn canonical(command: &Command) -> Cow<'_, [CommandWord]> {
    let name = command.name();
    let is_upper = !name.iter().any(u8::is_ascii_lowercase);
    if is_upper && ![&b"SET"[..], b"EVAL", b"EVALSHA"].contains(&name) {
        return Cow::Borrowed(command.words());
    }
    let mut words = command.words().to_vec();
    words[0].make_ascii_uppercase();
    match words[0].as_slice() {
        b"SET" if words.len() > 3 => {
            let mut options = words.split_off(3);
            options.iter_mut().for_each(|option| option.make_ascii_uppercase());
            let condition = options.iter().position(|option| option == b"NX");
            words.extend(condition.map(|place| options.remove(place)));
            words.extend(options);
        }
        b"EVAL" if words.len() > 1 => {
            words[0] = b"EVALSHA".into();
            words[1] = Script::sha1_hex_of(&words[1]).as_slice().into();
        }
        b"EVALSHA" if words.len() > 1 => words[1].make_ascii_lowercase(),
        _ => {}
    }
    Cow::Owned(words)
}
