//! A command at the head of what a client has sent: its first words, before it is complete.

use std::ops::Deref;

use super::decode;
use super::frame::Malformed;
use crate::wire::Command;

/// The first words of a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head<'a> {
    /// More bytes are needed to tell.
    Incomplete,
    /// These words, of so many; fewer if they have not all arrived. The length of the whole, if the words are all of it and
    /// have arrived.
    Array { words: FirstWords<'a>, count: usize, length: Option<usize> },
    /// A line of words, as one types it; so many bytes with its end.
    Inline { words: Vec<&'a [u8]>, length: usize },
}

/// As many words as are needed to find a key: those of `EVALSHA sha numkeys key`.
const MOST_WORDS: usize = 4;
/// Longer lines are refused, as Redis refuses them.
const LONGEST_LINE: usize = 64 * 1024;

/// The first words of a command, without an allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FirstWords<'a> {
    words: [&'a [u8]; MOST_WORDS],
    count: usize,
}

impl<'a> FirstWords<'a> {
    fn push(&mut self, word: &'a [u8]) {
        self.words[self.count] = word;
        self.count += 1;
    }
}

impl<'a> Deref for FirstWords<'a> {
    type Target = [&'a [u8]];

    fn deref(&self) -> &Self::Target {
        &self.words[..self.count]
    }
}

/// Reads the head of the bytes.
pub(super) fn head(bytes: &[u8]) -> Result<Head<'_>, Malformed> {
    let Some(first) = bytes.first() else { return Ok(Head::Incomplete) };
    if *first != b'*' {
        return inline(bytes);
    }
    let Some((count, mut rest)) = line_number(&bytes[1..])? else { return Ok(Head::Incomplete) };
    let mut words = FirstWords::default();
    let Ok(count) = usize::try_from(count) else { return Ok(Head::Array { words, count: 0, length: None }) };
    let mut is_whole = count <= MOST_WORDS;
    while words.len() < count.min(MOST_WORDS) {
        let Some((b'$', number)) = rest.split_first() else {
            return if rest.is_empty() { Ok(Head::Incomplete) } else { Err(Malformed) };
        };
        let Some((length, behind)) = line_number(number)? else { return Ok(Head::Incomplete) };
        let length = usize::try_from(length).map_err(|_| Malformed)?;
        let Some(word) = behind.get(..length) else {
            // A long word is not a key of a lock: what is known is enough.
            return if length > LONGEST_LINE {
                Ok(Head::Array { words, count, length: None })
            } else {
                Ok(Head::Incomplete)
            };
        };
        words.push(word);
        is_whole &= behind.len() >= length + 2;
        rest = behind.get(length + 2..).unwrap_or_default();
    }
    Ok(Head::Array { words, count, length: is_whole.then(|| bytes.len() - rest.len()) })
}

fn inline(bytes: &[u8]) -> Result<Head<'_>, Malformed> {
    let Some(end) = memchr::memchr(b'\n', bytes) else {
        return if bytes.len() > LONGEST_LINE { Err(Malformed) } else { Ok(Head::Incomplete) };
    };
    let words = bytes[..end].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    Ok(Head::Inline { words, length: end + 1 })
}

/// A number and what follows its line; `None` if the line is not complete.
fn line_number(bytes: &[u8]) -> Result<Option<(i64, &[u8])>, Malformed> {
    const LONGEST: usize = 24;
    // Nearly all numbers are digits alone, and so few that they do not overflow.
    let digits = bytes.iter().take(18).take_while(|byte| byte.is_ascii_digit()).count();
    if digits > 0
        && let Some(rest) = bytes[digits..].strip_prefix(b"\r\n")
    {
        let value = bytes[..digits].iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
        return Ok(Some((value, rest)));
    }
    let Some(end) = memchr::memchr(b'\n', &bytes[..bytes.len().min(LONGEST)]) else {
        return if bytes.len() < LONGEST { Ok(None) } else { Err(Malformed) };
    };
    let digits = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+')).ok_or(Malformed)?;
    let number = digits.parse().map_err(|_| Malformed)?;
    Ok(Some((number, &bytes[end + 1..])))
}

impl Head<'_> {
    /// The command, if its first words are all of it, as those of most commands of locks.
    pub(super) fn command(&self) -> Option<Command> {
        match self {
            Self::Inline { words, .. } => from_words(words),
            Self::Array { words, length: Some(_), .. } => from_words(words),
            Self::Array { length: None, .. } | Self::Incomplete => None,
        }
    }
}

/// The complete command of a frame.
pub(super) fn command(frame: &[u8]) -> Option<Command> {
    if let Some(short) = head(frame).ok()?.command() {
        return Some(short);
    }
    let Ok(redis::Value::Array(items)) = decode::value(frame) else { return None };
    let words = items.into_iter().map(|item| if let redis::Value::BulkString(word) = item { Some(word) } else { None });
    Command::from_words(words.collect::<Option<Vec<_>>>()?)
}

fn from_words(words: &[&[u8]]) -> Option<Command> {
    Command::from_words(words.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_words_are_read_as_soon_as_they_are_there() {
        let whole = b"*3\r\n$5\r\nSETNX\r\n$1\r\nk\r\n$2\r\n10\r\n";
        for end in 0..whole.len() - 2 {
            assert_eq!(head(&whole[..end]), Ok(Head::Incomplete), "{end}");
        }
        let words = vec![&b"SETNX"[..], b"k", b"10"];
        assert_eq!(head(whole), Ok(Head::Array { words: first(&words), count: 3, length: Some(whole.len()) }));
        let next = [&whole[..], b"*1\r\n$4\r\nPING\r\n"].concat();
        assert_eq!(head(&next), head(whole));
        for end in whole.len() - 2..whole.len() {
            assert_eq!(head(&whole[..end]), Ok(Head::Array { words: first(&words), count: 3, length: None }));
        }
        assert_eq!(head(b"SETNX k  10\r\n"), Ok(Head::Inline { words, length: 13 }));
        assert_eq!(command(whole), command(b"SETNX k 10\r\n"));
        let long = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$99999999\r\nabc";
        assert_eq!(head(long), Ok(Head::Array { words: first(&[b"SET", b"k"]), count: 3, length: None }));
        let five = b"*5\r\n$3\r\nDEL\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n";
        let words = first(&[b"DEL", b"a", b"b", b"c"]);
        assert_eq!(head(five), Ok(Head::Array { words, count: 5, length: None }));
        assert_eq!(head(b"*2\r\n+GET\r\n"), Err(Malformed));
        assert_eq!(head(b"*x\r\n"), Err(Malformed));
        assert_eq!(head(b"*+1\r\n"), Err(Malformed));
    }

    fn first<'a>(words: &[&'a [u8]]) -> FirstWords<'a> {
        let mut first = FirstWords::default();
        words.iter().for_each(|word| first.push(word));
        first
    }
}
