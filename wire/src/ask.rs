//! A command before it is built.
//!
//! A protocol that is run again repeats all its commands, and most of them are recorded already. So a command is first
//! compared with the recorded one, word by word, and is built only if it is new.

use core::slice;

use crate::command::Words;
use crate::decimal::Decimal;
use crate::{Command, CommandWord, Node};

/// What can be sent as a command. Unless it is a [`Command`], it is for the first server.
pub(crate) trait Ask {
    /// Writes all words into `sink`, the name first.
    fn write_words<L: WordSink>(&self, sink: L) -> L;

    /// The command that it is.
    fn command(&self) -> Command {
        Command::written(|words| {
            self.write_words(words);
        })
    }

    /// Whether `command` is the same, word for word, and for the same server.
    fn matches(&self, command: &Command) -> bool {
        let is_same = command.node() == Node::default();
        self.write_words(WordComparison { expected: command.words().iter(), is_same }).ends_the_same()
    }
}

/// Takes the words of a command.
pub(crate) trait WordSink: Sized {
    /// Takes one word.
    fn arg(self, word: impl AsRef<[u8]>) -> Self;

    /// Takes a number, in decimal.
    fn arg_int(self, number: i64) -> Self {
        self.arg(Decimal::of(number))
    }
}

impl<P: Ask> Ask for &P {
    fn write_words<L: WordSink>(&self, sink: L) -> L {
        P::write_words(self, sink)
    }

    fn command(&self) -> Command {
        P::command(self)
    }

    fn matches(&self, command: &Command) -> bool {
        P::matches(self, command)
    }
}

impl Ask for Command {
    fn write_words<L: WordSink>(&self, sink: L) -> L {
        self.words().iter().fold(sink, |sink, word| sink.arg(word))
    }

    fn command(&self) -> Command {
        self.clone()
    }

    fn matches(&self, command: &Command) -> bool {
        self == command
    }
}

impl WordSink for &mut Words {
    fn arg(self, word: impl AsRef<[u8]>) -> Self {
        self.push(word.as_ref().into());
        self
    }
}

impl WordSink for Command {
    fn arg(self, word: impl AsRef<[u8]>) -> Self {
        Self::arg(self, word)
    }

    fn arg_int(self, number: i64) -> Self {
        Self::arg_int(self, number)
    }
}

/// Compares the words that it takes with those of a command.
struct WordComparison<'a> {
    expected: slice::Iter<'a, CommandWord>,
    is_same: bool,
}

impl WordSink for WordComparison<'_> {
    fn arg(mut self, word: impl AsRef<[u8]>) -> Self {
        self.is_same &= self.expected.next().is_some_and(|expected| expected == word.as_ref());
        self
    }
}

impl WordComparison<'_> {
    fn ends_the_same(mut self) -> bool {
        self.is_same && self.expected.next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, Set};

    #[test]
    fn an_ask_matches_the_command_that_it_becomes_and_no_other() {
        let key = Key::from("k");
        let set = Set::new(&key, b"v");
        let command = Ask::command(&set);
        assert!(set.matches(&command));
        assert!(Ask::matches(&&command, &command));
        let others = [
            Command::new("SET").arg("k"),
            Command::new("SET").arg("k").arg("w"),
            Command::new("SET").arg("k").arg("v").arg("NX"),
            command.clone().on(Node(1)),
        ];
        for other in others {
            assert!(!set.matches(&other), "{other}");
            assert!(!Ask::matches(&&command, &other), "{other}");
            assert_eq!(Ask::command(&&other), other);
        }
    }
}
