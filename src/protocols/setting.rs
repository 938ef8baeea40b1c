//! An option that may follow a protocol's name: `expiry=px|ex|pxat|exat|none`.

use std::fmt;

/// An option of a protocol, and its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// Its values.
    pub values: Values,
}

/// The values of an option; the first word is the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Values {
    /// One of these words.
    Words(&'static [&'static str]),
    /// A whole number from 1 to this one. Its default depends on the option.
    UpTo(u32),
}

impl Setting {
    /// An option with these words.
    pub(super) const fn of(name: &'static str, words: &'static [&'static str]) -> Self {
        Self { name, values: Values::Words(words) }
    }

    /// Whether this is a value of the option.
    pub fn allows(&self, value: &str) -> bool {
        match self.values {
            Values::Words(words) => words.contains(&value),
            Values::UpTo(most) => value.parse().is_ok_and(|number: u32| (1..=most).contains(&number)),
        }
    }

    /// The values other than the default; of a number, only one of them.
    pub fn alternatives(&self) -> &'static [&'static str] {
        match self.values {
            Values::Words(words) => words.get(1..).unwrap_or_default(),
            Values::UpTo(_) => &["2"],
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.values {
            Values::Words(words) => write!(f, "{}={}", self.name, words.join("|")),
            Values::UpTo(most) => write!(f, "{}=1..{most}", self.name),
        }
    }
}
