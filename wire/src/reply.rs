//! What Redis answers.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::Printable;

/// What Redis answers to one command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// Nothing there: a nil bulk string or a nil array.
    Nil,
    /// A number; signed, because PTTL answers -1 and -2.
    Int(i64),
    /// A short status such as `OK` or `QUEUED`.
    Status(String),
    /// A string of any bytes.
    Bulk(Vec<u8>),
    /// Several replies in one.
    Array(Vec<Reply>),
    /// Redis refused: the text as sent, code first (`WRONGTYPE Operation against ...`).
    Error(String),
}

impl Reply {
    /// The status `OK`.
    pub fn ok() -> Self {
        Self::Status(String::from("OK"))
    }

    /// A string of these bytes.
    pub fn bulk(bytes: impl AsRef<[u8]>) -> Self {
        Self::Bulk(bytes.as_ref().to_vec())
    }

    /// The code of an error reply: its first word (`WRONGTYPE`); `None` for any other reply.
    pub fn error_code(&self) -> Option<&str> {
        match self {
            Self::Error(text) => text.split(' ').next(),
            Self::Nil | Self::Int(_) | Self::Status(_) | Self::Bulk(_) | Self::Array(_) => None,
        }
    }
}

impl fmt::Display for Reply {
    /// The reply as `redis-cli` would show it, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil => f.write_str("(nil)"),
            Self::Int(number) => write!(f, "{number}"),
            Self::Status(text) => f.write_str(text),
            Self::Bulk(bytes) => write!(f, "\"{}\"", Printable(bytes)),
            Self::Error(text) => write!(f, "(error) {text}"),
            Self::Array(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    write!(f, "{comma}{item}")?;
                }
                f.write_str("]")
            }
        }
    }
}
