//! How each language reads a value that somebody left in the key.

/// A number as the languages have them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer of any width that they use.
    Int(i128),
    /// A 64-bit float.
    Float(f64),
}

/// How a stored value compares with the present time, in the eyes of one language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// The value is less than now.
    Less,
    /// The value equals now.
    Equal,
    /// The value is greater than now.
    Greater,
    /// Neither: the value became NaN, and every comparison is false.
    Unordered,
    /// The language raises an error, or its parser reports failure.
    Unreadable,
}

/// A language's way from the bytes in the key to a comparison with now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reader {
    /// PHP before 8: `"value" < time()`.
    Php7,
    /// PHP 8: `"value" < time()`, where a text that is no number is compared as text.
    Php8,
}

impl Reader {
    /// The number that the language makes of the value; `None` where it raises, refuses, or compares without one.
    pub fn number(self, value: &[u8]) -> Option<Number> {
        let _ = value;
        None
    }

    /// How the value compares with `now`, both in the dialect's unit.
    pub fn compare(self, value: &[u8], now: Number) -> Comparison {
        let _ = (value, now);
        Comparison::Unreadable
    }
}
