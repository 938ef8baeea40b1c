//! One line: a command that a server ran.

use std::fmt;

use super::word::Word;
use crate::wire::{Command, Printable, UnixTime};

/// Who sent a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source<'a> {
    /// A connection, by its address: `127.0.0.1:50000`, `[::1]:50000`, `unix:/run/redis.sock`.
    Client(&'a [u8]),
    /// The script of the line before.
    Script,
}

/// Where a word stands in its line, and whether it is free of escapes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) begin: usize,
    pub(super) end: usize,
    pub(super) is_plain: bool,
}

/// One line of MONITOR, understood.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// When, by the server's wall clock; MONITOR counts microseconds.
    pub at: UnixTime,
    /// In which database.
    pub database: u32,
    /// Who sent it.
    pub source: Source<'a>,
    pub(super) text: &'a [u8],
    /// At least one.
    pub(super) spans: &'a [Span],
}

impl<'a> Line<'a> {
    /// Its words: the command's name and its arguments.
    pub fn words(self) -> impl ExactSizeIterator<Item = Word<'a>> {
        self.spans.iter().map(move |span| Word::new(&self.text[span.begin..span.end], span.is_plain))
    }

    /// The word at this place; the name is at 0.
    pub fn word(self, place: usize) -> Option<Word<'a>> {
        self.words().nth(place)
    }

    /// The command.
    pub fn command(self) -> Command {
        let words = self.words().map(|word| word.bytes().into_owned()).collect();
        Command::from_words(words).expect("a line without a word is ill-formed")
    }
}

/// A command as a line of MONITOR.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    /// When.
    pub at: UnixTime,
    /// In which database.
    pub database: u32,
    /// Who sent it.
    pub source: Source<'a>,
    /// What.
    pub command: &'a Command,
}

impl fmt::Display for Written<'_> {
    /// The line, without a line feed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.at.as_nanos().rem_euclid(1_000_000_000) / 1_000;
        write!(f, "{}.{micros:06} [{} ", self.at.as_secs(), self.database)?;
        match self.source {
            Source::Client(address) => f.write_str(&String::from_utf8_lossy(address))?,
            Source::Script => f.write_str("lua")?,
        }
        f.write_str("]")?;
        self.command.words().iter().try_for_each(|word| write!(f, " \"{}\"", Printable(word)))
    }
}
