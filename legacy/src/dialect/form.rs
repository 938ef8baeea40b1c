//! The form of a value: the stamp and what stands before and behind it.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;

use lockshift_lock::Owner;

use super::{Digits, Stamp};
use crate::Number;

/// The form of the value in the key: its parts in order, and the stamp that stands in one of them.
///
/// `[Stamp]` is a bare stamp, `[Stamp, Text("-"), Pid]` one with its owner behind it, `[Text("1")]` a constant, `[]`
/// the empty string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// The parts, at most one of them the stamp.
    pub parts: &'static [Part],
    /// What the stamp counts.
    pub stamp: Stamp,
    /// Whether a takeover writes the value as a JSON string, in quotes. The value of a claim stands without them.
    pub quoted_when_taken: bool,
}

/// One part of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The stamp.
    Stamp,
    /// Always these bytes.
    Text(&'static str),
    /// The owner's process id, in decimal.
    Pid,
    /// The number of the owner's thread, in decimal.
    Thread,
    /// The owner's token as a UUID, 36 characters.
    Uuid,
    /// The owner's token as 32 hex digits.
    Hex,
    /// What the program calls its owner: `host:pid`, or a name that its caller gives. Here it is a UUID, which two owners
    /// never share.
    OwnerId,
}

/// A value taken apart: the bytes before the stamp, those behind it, and what it says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split<'a> {
    before: &'a [u8],
    behind: &'a [u8],
    /// The number of the stamp; `None` in a form without one.
    number: Option<Number>,
}

impl Form {
    /// A bare stamp.
    pub const fn stamp(stamp: Stamp) -> Self {
        Self::of(&[Part::Stamp], stamp)
    }

    /// These parts, around this stamp.
    pub const fn of(parts: &'static [Part], stamp: Stamp) -> Self {
        Self { parts, stamp, quoted_when_taken: false }
    }

    /// These parts, without a stamp: the value does not say when the lease ends.
    pub const fn unstamped(parts: &'static [Part]) -> Self {
        Self::of(parts, Stamp::SECONDS)
    }

    /// This form; a takeover writes it as a JSON string.
    #[must_use]
    pub const fn quoted_when_taken(self) -> Self {
        Self { quoted_when_taken: true, ..self }
    }

    /// Whether a stamp stands in the value.
    pub fn is_stamped(&self) -> bool {
        self.parts.contains(&Part::Stamp)
    }

    /// Whether the value can differ from one owner or moment to another. Constants cannot: their writer is unknown.
    pub fn tells_apart(&self) -> bool {
        self.parts.iter().any(|part| !matches!(part, Part::Text(_)))
    }

    /// Whether the owner's token is in the value, and with it the one acquisition that wrote it.
    pub fn names_token(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Uuid | Part::Hex))
    }

    /// The bytes that `owner` writes, with this number for a stamp.
    pub fn write(&self, number: Number, owner: &Owner) -> Vec<u8> {
        let [first, others @ ..] = self.parts else { return Vec::new() };
        let written = |part: &Part| part.write(self.stamp.digits, number, owner);
        others.iter().fold(written(first), |mut value, part| {
            value.extend_from_slice(&written(part));
            value
        })
    }

    /// Whether this form could have been written as `value`, at whatever time and by whatever owner.
    pub fn matches(&self, value: &[u8]) -> bool {
        self.split(value).is_some()
    }

    /// The number in a value of this form; `None` for values of another form, or of a form without a stamp.
    ///
    /// This is strict: it recognises values that this dialect writes. How its clients judge any other value is a matter of
    /// their [`Reader`](crate::Reader).
    pub fn read(&self, value: &[u8]) -> Option<Number> {
        self.split(value)?.number
    }

    /// `value` with another stamp and the same owner; `None` if it has not this form.
    pub fn restamp(&self, value: &[u8], number: Number) -> Option<Vec<u8>> {
        let split = self.split(value)?;
        let stamp = if self.is_stamped() { self.stamp.digits.write(number) } else { Vec::new() };
        Some([split.before, &stamp, split.behind].concat())
    }

    /// Whether two values have this form and name the same owner, whatever their stamps.
    pub(crate) fn same_owner(&self, one: &[u8], other: &[u8]) -> bool {
        match (self.split(one), self.split(other)) {
            (Some(one), Some(other)) => one.before == other.before && one.behind == other.behind,
            (None, _) | (_, None) => false,
        }
    }

    /// Whether this owner has written the value.
    pub(crate) fn is_by(&self, owner: &Owner, value: &[u8]) -> bool {
        self.same_owner(value, &self.write(self.read(value).unwrap_or(Number::Int(0)), owner))
    }

    /// The value as a takeover writes it.
    pub(crate) fn taken(&self, value: Vec<u8>) -> Vec<u8> {
        if self.quoted_when_taken { [b"\"", value.as_slice(), b"\""].concat() } else { value }
    }

    /// Takes a value of this form apart, in quotes or not.
    fn split<'a>(&self, value: &'a [u8]) -> Option<Split<'a>> {
        match value {
            [b'"', inner @ .., b'"'] if self.quoted_when_taken => {
                let split = self.split_unquoted(inner)?;
                let end = value.len() - split.behind.len() - 1;
                Some(Split { before: &value[..=split.before.len()], behind: &value[end..], ..split })
            }
            _ => self.split_unquoted(value),
        }
    }

    /// Takes a value of this form apart, from both ends towards the stamp.
    fn split_unquoted<'a>(&self, value: &'a [u8]) -> Option<Split<'a>> {
        let place = self.parts.iter().position(|part| *part == Part::Stamp).unwrap_or(self.parts.len());
        let mut rest = value;
        for part in &self.parts[..place] {
            rest = &rest[part.length_at_start(rest)?..];
        }
        let before = &value[..value.len() - rest.len()];
        if !self.is_stamped() {
            return rest.is_empty().then_some(Split { before, behind: &[], number: None });
        }
        let mut stamp = rest;
        for part in self.parts[place + 1..].iter().rev() {
            stamp = &stamp[..stamp.len() - part.length_at_end(stamp)?];
        }
        let number = self.stamp.digits.read(stamp)?;
        Some(Split { before, behind: &rest[stamp.len()..], number: Some(number) })
    }
}

impl Part {
    fn write(self, digits: Digits, number: Number, owner: &Owner) -> Vec<u8> {
        match self {
            Self::Stamp => digits.write(number),
            Self::Text(text) => text.as_bytes().to_vec(),
            Self::Pid => owner.pid.to_string().into_bytes(),
            Self::Thread => owner.thread.to_string().into_bytes(),
            Self::Uuid | Self::OwnerId => owner.token.uuid().into_bytes(),
            Self::Hex => owner.token.hex().into_bytes(),
        }
    }

    /// How many bytes at the start of `value` are this part.
    fn length_at_start(self, value: &[u8]) -> Option<usize> {
        match self {
            Self::Stamp => None,
            Self::Text(text) => value.starts_with(text.as_bytes()).then_some(text.len()),
            Self::Pid | Self::Thread => counted(value.iter().take_while(|byte| byte.is_ascii_digit()).count()),
            Self::Uuid => value.get(..36).filter(|uuid| is_uuid(uuid)).map(<[u8]>::len),
            Self::OwnerId => (is_uuid(value) || is_host_and_pid(value)).then_some(value.len()),
            Self::Hex => value.get(..32).filter(|hex| is_hex(hex)).map(<[u8]>::len),
        }
    }

    /// How many bytes at the end of `value` are this part.
    fn length_at_end(self, value: &[u8]) -> Option<usize> {
        match self {
            Self::Stamp => None,
            Self::Text(text) => value.ends_with(text.as_bytes()).then_some(text.len()),
            Self::Pid | Self::Thread => counted(value.iter().rev().take_while(|byte| byte.is_ascii_digit()).count()),
            Self::Uuid => value.len().checked_sub(36).filter(|start| is_uuid(&value[*start..])).map(|_| 36),
            Self::OwnerId => self.length_at_start(value),
            Self::Hex => value.len().checked_sub(32).filter(|start| is_hex(&value[*start..])).map(|_| 32),
        }
    }
}

fn counted(digits: usize) -> Option<usize> {
    (digits > 0).then_some(digits)
}

fn is_hex(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte))
}

fn is_uuid(bytes: &[u8]) -> bool {
    bytes.split(|byte| *byte == b'-').map(<[u8]>::len).eq([8, 4, 4, 4, 12])
        && bytes.split(|byte| *byte == b'-').all(is_hex)
}

/// `web-3.example.org:4711`.
fn is_host_and_pid(bytes: &[u8]) -> bool {
    let Some(colon) = bytes.iter().rposition(|byte| *byte == b':') else { return false };
    let (host, pid) = (&bytes[..colon], &bytes[colon + 1..]);
    let is_of_host = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._".contains(byte);
    !host.is_empty() && host.iter().all(is_of_host) && !pid.is_empty() && pid.iter().all(u8::is_ascii_digit)
}

impl fmt::Display for Form {
    /// `<stamp>-<pid>: decimal s, now + lease`; a constant stands in quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts {
            [Part::Stamp] if self.quoted_when_taken => return write!(f, "{}; in quotes after a takeover", self.stamp),
            [Part::Stamp] => return self.stamp.fmt(f),
            [] => return f.write_str("\"\""),
            [Part::Text(text)] => return write!(f, "\"{text}\""),
            _ => {}
        }
        for part in self.parts {
            match part {
                Part::Stamp => f.write_str("<stamp>"),
                Part::Text(text) => f.write_str(text),
                Part::Pid => f.write_str("<pid>"),
                Part::Thread => f.write_str("<thread>"),
                Part::Uuid => f.write_str("<uuid>"),
                Part::Hex => f.write_str("<32 hex digits>"),
                Part::OwnerId => f.write_str("<host>:<pid>"),
            }?;
        }
        if self.is_stamped() { write!(f, ": {}", self.stamp) } else { Ok(()) }
    }
}
