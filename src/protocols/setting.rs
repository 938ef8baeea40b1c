//! What may be said about a protocol behind its name: `expiry=px|ex|pxat|exat`.

use std::fmt;

/// Something that may be said about a protocol, and the words for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// The words that it takes; the first holds if nothing is said.
    pub words: &'static [&'static str],
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.words.join("|"))
    }
}
