//! One Redis command: its name and its arguments, as bytes.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use smallvec::SmallVec;

use crate::decimal::Decimal;
use crate::{CommandWord, Printable};

/// One Redis command, as it will be sent. A clone shares its words.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Command {
    words: Arc<Words>,
    node: Node,
}

/// The words of a command.
pub(crate) type Words = SmallVec<[CommandWord; IN_PLACE]>;

/// Which of several independent servers a command is for, by its place in the list that the client was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u8);

/// So many words have most commands of locks: SET with a condition and a time to live, and the script of a release that is
/// announced.
const IN_PLACE: usize = 8;

impl Command {
    /// A command without arguments yet. Names are written in capitals.
    pub fn new(name: &str) -> Self {
        Self::written(|words| words.push(name.as_bytes().into()))
    }

    /// The command of the words that `write` appends, name first. It appends them where they stay: moving all of them costs
    /// more than building them.
    pub(crate) fn written(write: impl FnOnce(&mut Words)) -> Self {
        let mut words = Arc::<Words>::default();
        write(Arc::get_mut(&mut words).expect("nothing shares it yet"));
        Self { words, node: Node::default() }
    }

    /// This command from all its words, name first, as a trace or another client gives them; `None` without a name.
    pub fn from_words<W: Into<CommandWord>>(words: impl IntoIterator<Item = W>) -> Option<Self> {
        let command = Self::written(|all| all.extend(words.into_iter().map(Into::into)));
        if command.words.is_empty() { None } else { Some(command) }
    }

    /// This command with one more argument.
    #[must_use]
    pub fn arg(self, word: impl AsRef<[u8]>) -> Self {
        self.with(word.as_ref().into())
    }

    /// This command with one more argument, a number in decimal.
    #[must_use]
    pub fn arg_int(self, number: i64) -> Self {
        self.arg(Decimal::of(number))
    }

    /// This command for one of several servers. Without it, a command is for the first, and only.
    #[must_use]
    pub fn on(self, node: Node) -> Self {
        Self { node, ..self }
    }

    /// The server that it is for.
    pub fn node(&self) -> Node {
        self.node
    }

    fn with(mut self, word: CommandWord) -> Self {
        Arc::make_mut(&mut self.words).push(word);
        self
    }

    /// All words, the name first.
    #[inline]
    pub fn words(&self) -> &[CommandWord] {
        &self.words
    }

    /// The name, as written.
    #[inline]
    pub fn name(&self) -> &[u8] {
        &self.words[0]
    }

    /// The arguments, without the name.
    #[inline]
    pub fn args(&self) -> &[CommandWord] {
        &self.words[1..]
    }

    /// Appends it as it is sent: an array of bulk strings, in RESP.
    pub fn pack(&self, out: &mut Vec<u8>) {
        pack_length(b'*', self.words.len(), out);
        for word in self.words.iter() {
            pack_length(b'$', word.len(), out);
            out.extend_from_slice(word);
            out.extend_from_slice(b"\r\n");
        }
    }

    /// The same by itself.
    pub fn packed(&self) -> Vec<u8> {
        let lengths = self.words.iter().map(|word| word.len() + LONGEST_LENGTH);
        let mut out = Vec::with_capacity(LONGEST_LENGTH + lengths.sum::<usize>());
        self.pack(&mut out);
        out
    }

    /// Whether this is the command `name`, in whatever case it was written.
    #[inline]
    pub fn is(&self, name: &str) -> bool {
        self.name().eq_ignore_ascii_case(name.as_bytes())
    }
}

/// What stands around a word that is shorter than ten thousand bytes.
const LONGEST_LENGTH: usize = "$9999\r\n\r\n".len();

/// Appends a line of this kind with this length, which has one digit or two in most words of locks.
fn pack_length(kind: u8, length: usize, out: &mut Vec<u8>) {
    let digit = |value| b'0' + value as u8;
    match length {
        0..10 => out.extend_from_slice(&[kind, digit(length), b'\r', b'\n']),
        10..100 => out.extend_from_slice(&[kind, digit(length / 10), digit(length % 10), b'\r', b'\n']),
        _ => {
            out.push(kind);
            out.extend_from_slice(Decimal::of_length(length as u64).as_ref());
            out.extend_from_slice(b"\r\n");
        }
    }
}

impl fmt::Display for Command {
    /// The command as one would type it, words with spaces or odd bytes in quotes; behind it the
    /// place of its server, unless that is the first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.words.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            if !word.is_empty() && word.iter().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(byte)) {
                Printable(word).fmt(f)?;
            } else {
                write!(f, "\"{}\"", Printable(word))?;
            }
        }
        match self.node {
            Node(0) => Ok(()),
            Node(place) => write!(f, " @{place}"),
        }
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{self}`")
    }
}
