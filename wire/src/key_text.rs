//! A key as text: shown so that what is shown can be passed back.
//!
//! A key of printable UTF-8 is shown as it is, spaces, quotes and backslashes included. Any other key is shown in the
//! quotes that shells know, `$'a\xff'`: pasted into a shell it is the key again, and [`key`] reads it as well.

use alloc::vec::Vec;
use core::fmt::{Formatter, Result, Write};

const OPENING: &str = "$'";
const CLOSING: char = '\'';

/// Shows the bytes of a key.
pub(crate) fn show(bytes: &[u8], f: &mut Formatter<'_>) -> Result {
    if let Some(text) = plain(bytes) {
        return f.write_str(text);
    }
    f.write_str(OPENING)?;
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\\' | '\'' => write!(f, "\\{letter}")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                letter if is_printable(letter) => f.write_char(letter)?,
                letter => hex(letter.encode_utf8(&mut [0; 4]).as_bytes(), f)?,
            }
        }
        hex(chunk.invalid(), f)?;
    }
    f.write_char(CLOSING)
}

/// The text of a key that is shown as it is.
fn plain(bytes: &[u8]) -> Option<&str> {
    let text = core::str::from_utf8(bytes).ok()?;
    // One that looks like the quoted form would be taken for it.
    (!text.is_empty() && !text.starts_with(OPENING) && text.chars().all(is_printable)).then_some(text)
}

/// Whether a terminal shows the character, and nothing else changes by it: no control, no invisible or bidirectional one.
fn is_printable(letter: char) -> bool {
    !letter.is_control()
        && !matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        && !matches!(letter, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
        && (!letter.is_whitespace() || letter == ' ')
}

fn hex(bytes: &[u8], f: &mut Formatter<'_>) -> Result {
    bytes.iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))
}

/// The bytes of the key that is shown as this text. Text that is not in the quoted form is the key itself.
pub(crate) fn key(text: &[u8]) -> Vec<u8> {
    let quoted = text.strip_prefix(OPENING.as_bytes()).and_then(|rest| rest.strip_suffix(b"'"));
    quoted.and_then(unquoted).unwrap_or_else(|| text.to_vec())
}

/// `None`: an escape is none that [`show`] writes, or a quote is not escaped.
fn unquoted(mut quoted: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        quoted = match quoted {
            [] => return Some(bytes),
            [b'\\', b'x', high, low, rest @ ..] => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                bytes.push(u8::try_from(digit(high)? * 16 + digit(low)?).ok()?);
                rest
            }
            [b'\\', escaped, rest @ ..] => {
                bytes.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'\\' | b'\'' => *escaped,
                    _ => return None,
                });
                rest
            }
            [b'\\' | b'\'', ..] => return None,
            [byte, rest @ ..] => {
                bytes.push(*byte);
                rest
            }
        };
    }
}
