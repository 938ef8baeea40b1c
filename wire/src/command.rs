//! One Redis command: its name and its arguments, as bytes.

use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::Printable;

/// One Redis command, as it will be sent. A clone shares its words.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Command {
    words: Arc<Vec<Vec<u8>>>,
    node: Node,
}

/// Which of several independent servers a command is for, by its place in the list that the client was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u8);

impl Command {
    /// A command without arguments yet. Names are written in capitals.
    pub fn new(name: &str) -> Self {
        Self::nameless().arg(name)
    }

    /// Not a command yet: its name is still to be added.
    pub(crate) fn nameless() -> Self {
        Self { words: Arc::new(Vec::with_capacity(6)), node: Node::default() }
    }

    /// This command from all its words, name first, as a trace or another client gives them; `None` without a name.
    pub fn from_words(words: Vec<Vec<u8>>) -> Option<Self> {
        if words.is_empty() { None } else { Some(Self { words: Arc::new(words), node: Node::default() }) }
    }

    /// This command with one more argument.
    #[must_use]
    pub fn arg(self, word: impl AsRef<[u8]>) -> Self {
        self.with(word.as_ref().to_vec())
    }

    /// This command with one more argument, a number in decimal.
    #[must_use]
    pub fn arg_int(self, number: i64) -> Self {
        self.with(number.to_string().into_bytes())
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

    fn with(mut self, word: Vec<u8>) -> Self {
        Arc::make_mut(&mut self.words).push(word);
        self
    }

    /// All words, the name first.
    #[inline]
    pub fn words(&self) -> &[Vec<u8>] {
        &self.words
    }

    /// The name, as written.
    #[inline]
    pub fn name(&self) -> &[u8] {
        &self.words[0]
    }

    /// The arguments, without the name.
    #[inline]
    pub fn args(&self) -> &[Vec<u8>] {
        &self.words[1..]
    }

    /// Whether this is the command `name`, in whatever case it was written.
    #[inline]
    pub fn is(&self, name: &str) -> bool {
        self.name().eq_ignore_ascii_case(name.as_bytes())
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
