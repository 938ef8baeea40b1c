//! One line: a command that a server ran.

use std::fmt;

use super::word::Word;
use crate::wire::{Command, CommandWord, Printable, UnixTime};

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
pub(super) struct WordSpan {
    pub(super) begin: usize,
    pub(super) end: usize,
    pub(super) is_plain: bool,
}

impl WordSpan {
    fn word(self, text: &[u8]) -> Word<'_> {
        Word::new(&text[self.begin..self.end], self.is_plain)
    }
}

/// One line of MONITOR, understood; or a command that another source has, as if MONITOR had listed it.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// When, by the server's wall clock; MONITOR counts microseconds.
    pub at: UnixTime,
    /// In which database.
    pub database: u32,
    /// Who sent it.
    pub source: Source<'a>,
    pub(super) words: LineWords<'a>,
}

/// The words of a line, at least one.
#[derive(Clone, Copy, Debug)]
pub(super) enum LineWords<'a> {
    /// As they stand in a text.
    Listed { text: &'a [u8], spans: &'a [WordSpan] },
    /// As they were sent.
    Sent(&'a [CommandWord]),
}

impl<'a> Line<'a> {
    /// A command that did not come from MONITOR.
    pub fn new(at: UnixTime, database: u32, source: Source<'a>, command: &'a Command) -> Self {
        Self { at, database, source, words: LineWords::Sent(command.words()) }
    }

    /// Its words: the command's name and its arguments.
    pub fn words(self) -> impl ExactSizeIterator<Item = Word<'a>> {
        let count = match self.words {
            LineWords::Listed { spans, .. } => spans.len(),
            LineWords::Sent(words) => words.len(),
        };
        (0..count).map(move |place| self.word(place).expect("the place is one of them"))
    }

    /// The word at this place; the name is at 0.
    pub fn word(self, place: usize) -> Option<Word<'a>> {
        match self.words {
            LineWords::Listed { text, spans } => spans.get(place).map(|span| span.word(text)),
            LineWords::Sent(words) => words.get(place).map(|word| Word::new(word, true)),
        }
    }

    /// The command.
    pub fn command(self) -> Command {
        let command = match self.words {
            LineWords::Listed { text, spans } => {
                Command::from_words(spans.iter().map(|span| CommandWord::from(&*span.word(text).bytes())))
            }
            LineWords::Sent(words) => Command::from_words(words.iter().cloned()),
        };
        command.expect("a line without a word is ill-formed")
    }
}

impl fmt::Display for Line<'_> {
    /// As MONITOR lists it, without a line feed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.at.as_nanos().rem_euclid(1_000_000_000) / 1_000;
        write!(f, "{}.{micros:06} [{} ", self.at.as_secs(), self.database)?;
        match self.source {
            Source::Client(address) => f.write_str(&String::from_utf8_lossy(address))?,
            Source::Script => f.write_str("lua")?,
        }
        f.write_str("]")?;
        self.words().try_for_each(|word| write!(f, " \"{}\"", Printable(&word.bytes())))
    }
}
