//! Bytes that may be anything, shown as `redis-cli` shows them.

use core::fmt::{Display, Formatter, Result, Write};

/// Shows bytes as one readable word: printable ASCII as it is, all else as `\n`, `\"`, `\x00` and the like.
///
/// ```
/// assert_eq!(lockshift_wire::Printable(b"\x00\x00\x01\x8b ok\n").to_string(), r"\x00\x00\x01\x8b ok\n");
/// ```
#[derive(Clone, Copy)]
pub struct Printable<'a>(pub &'a [u8]);

impl Display for Printable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for &byte in self.0 {
            match byte {
                b'\\' => f.write_str("\\\\")?,
                b'"' => f.write_str("\\\"")?,
                b'\n' => f.write_str("\\n")?,
                b'\r' => f.write_str("\\r")?,
                b'\t' => f.write_str("\\t")?,
                0x07 => f.write_str("\\a")?,
                0x08 => f.write_str("\\b")?,
                b' '..=b'~' => f.write_char(char::from(byte))?,
                _ => write!(f, "\\x{byte:02x}")?,
            }
        }
        Ok(())
    }
}
