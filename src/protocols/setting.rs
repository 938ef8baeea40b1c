//! An option that may follow a protocol's name: `expiry=px|ex|pxat|exat`.

use std::fmt;

/// An option of a protocol, and its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// Its values; the first is the default.
    pub words: &'static [&'static str],
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.words.join("|"))
    }
}
