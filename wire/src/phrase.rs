//! A command before it is put together.
//!
//! A protocol that is run again asks everything again, and most of it only to be told what is recorded. So a question
//! is first held against the recorded command, word by word, and becomes a command of its own only if it is new.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::slice;

use crate::Command;

/// What can be said as a command.
pub(crate) trait Phrase {
    /// Says all words to `listener`, the name first.
    fn say<L: Listener>(&self, listener: L) -> L;

    /// The command that it is.
    fn command(&self) -> Command {
        self.say(Command::unsaid())
    }

    /// Whether `command` is the same, word for word.
    fn is(&self, command: &Command) -> bool {
        self.say(Comparison { expected: command.words().iter(), is_same: true }).ends_the_same()
    }
}

/// Who hears a phrase.
pub(crate) trait Listener: Sized {
    /// Hears one word.
    fn arg(self, word: impl AsRef<[u8]>) -> Self;

    /// Hears a number, in decimal.
    fn arg_int(self, number: i64) -> Self {
        self.arg(number.to_string())
    }
}

impl<P: Phrase> Phrase for &P {
    fn say<L: Listener>(&self, listener: L) -> L {
        P::say(self, listener)
    }
}

impl Phrase for Command {
    fn say<L: Listener>(&self, listener: L) -> L {
        self.words().iter().fold(listener, |listener, word| listener.arg(word))
    }

    fn command(&self) -> Command {
        self.clone()
    }

    fn is(&self, command: &Command) -> bool {
        self == command
    }
}

impl Listener for Command {
    fn arg(self, word: impl AsRef<[u8]>) -> Self {
        Self::arg(self, word)
    }
}

/// Holds what it hears against the words of a command.
struct Comparison<'a> {
    expected: slice::Iter<'a, Vec<u8>>,
    is_same: bool,
}

impl Listener for Comparison<'_> {
    fn arg(mut self, word: impl AsRef<[u8]>) -> Self {
        self.is_same &= self.expected.next().is_some_and(|expected| expected == word.as_ref());
        self
    }
}

impl Comparison<'_> {
    fn ends_the_same(mut self) -> bool {
        self.is_same && self.expected.next().is_none()
    }
}
