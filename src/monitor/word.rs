//! One quoted word of a line.

use std::borrow::Cow;

/// One quoted word of a line: as it stands there, without its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    quoted: &'a [u8],
    is_plain: bool,
}

impl<'a> Word<'a> {
    /// The word between these quotes, its escapes checked; plain without escapes.
    pub(super) fn new(quoted: &'a [u8], is_plain: bool) -> Self {
        Self { quoted, is_plain }
    }

    /// The bytes that were sent: borrowed where nothing had to be escaped.
    pub fn bytes(self) -> Cow<'a, [u8]> {
        if self.is_plain { Cow::Borrowed(self.quoted) } else { Cow::Owned(unescaped(self.quoted)) }
    }

    /// The word as it stands in the line: two words are equal if and only if these are.
    pub fn quoted(self) -> &'a [u8] {
        self.quoted
    }
}

fn unescaped(quoted: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(quoted.len());
    let mut rest = quoted;
    while let Some((&byte, after)) = rest.split_first() {
        let (plain, length) = if byte == b'\\' { escape(after).unwrap_or((byte, 0)) } else { (byte, 0) };
        bytes.push(plain);
        rest = &after[length..];
    }
    bytes
}

/// The byte that an escape stands for, and how many bytes follow its backslash; `None` if Redis writes no such escape.
pub(super) fn escape(after_backslash: &[u8]) -> Option<(u8, usize)> {
    let plain = match after_backslash {
        [b'n', ..] => b'\n',
        [b'r', ..] => b'\r',
        [b't', ..] => b'\t',
        [b'a', ..] => 0x07,
        [b'b', ..] => 0x08,
        [quoted @ (b'\\' | b'"'), ..] => *quoted,
        [b'x', high, low, ..] => return Some((hex(*high)? << 4 | hex(*low)?, 3)),
        _ => return None,
    };
    Some((plain, 1))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}
