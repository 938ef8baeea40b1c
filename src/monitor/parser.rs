//! From the bytes of one line to what it says, in one pass and without a copy.

use memchr::memchr2;

use super::ill_formed::IllFormed;
use super::line::{Line, LineWords, Source, WordSpan};
use super::word::escape;
use crate::wire::UnixTime;

/// Understands lines, one after the other.
#[derive(Debug)]
pub struct Parser {
    /// Where the words of the last line are: kept, so that no line needs memory of its own.
    spans: Vec<WordSpan>,
    second: Second,
}

/// The second of the last line, which is nearly always that of the next one.
#[derive(Debug)]
struct Second {
    /// Its digits and the point behind them.
    text: [u8; 11],
    secs: i64,
}

impl Parser {
    /// A parser that has seen nothing.
    pub const fn new() -> Self {
        Self { spans: Vec::new(), second: Second { text: *b"0000000000.", secs: 0 } }
    }

    /// Understands one line, without its line feed.
    ///
    /// # Errors
    /// [`IllFormed`]: it is not one of MONITOR's.
    pub fn parse<'a>(&'a mut self, text: &'a [u8]) -> Result<Line<'a>, IllFormed> {
        let text = text.strip_prefix(b"+").unwrap_or(text);
        let (at, rest) = self.second.time(text).ok_or(IllFormed::Time)?;
        let rest = rest.strip_prefix(b" [").ok_or(IllFormed::Client)?;
        let (database, rest) = database(rest)?;
        let length = end_of_client(rest).ok_or(IllFormed::Client)?;
        let source = if &rest[..length] == b"lua" { Source::Script } else { Source::Client(&rest[..length]) };
        self.spans.clear();
        self.words(text, text.len() - rest.len() + length + 2)?;
        Ok(Line { at, database, source, words: LineWords::Listed { text, spans: &self.spans } })
    }

    /// Finds the words of `text` from `begin` on.
    fn words(&mut self, text: &[u8], mut begin: usize) -> Result<(), IllFormed> {
        loop {
            match text.get(begin) {
                Some(b'"') => begin += 1,
                Some(_) => return Err(IllFormed::Words),
                None => return Err(if self.spans.is_empty() { IllFormed::Command } else { IllFormed::CutOff }),
            }
            let (end, is_plain) = end_of_word(text, begin)?;
            self.spans.push(WordSpan { begin, end, is_plain });
            match text.get(end + 1) {
                None => return Ok(()),
                Some(b' ') => begin = end + 2,
                Some(_) => return Err(IllFormed::Words),
            }
        }
    }
}

/// Where the closing quote of the word that begins here is, and whether nothing in it is escaped.
fn end_of_word(text: &[u8], begin: usize) -> Result<(usize, bool), IllFormed> {
    let mut at = begin;
    let mut is_plain = true;
    loop {
        at += quote_or_backslash(&text[at..]).ok_or(IllFormed::CutOff)?;
        if text[at] == b'"' {
            return Ok((at, is_plain));
        }
        is_plain = false;
        let after = &text[at + 1..];
        let (_, length) = escape(after).ok_or(if after.len() < 3 { IllFormed::CutOff } else { IllFormed::Escape })?;
        at += 1 + length;
    }
}

/// Where the first quote or backslash is. Most words are short, and there a search for a whole vector costs more than one for
/// eight bytes at a time.
fn quote_or_backslash(text: &[u8]) -> Option<usize> {
    const SHORT: usize = 32;
    let mut at = 0;
    while let Some(bytes) = text[at..].first_chunk().filter(|_| at < SHORT) {
        let bytes = u64::from_le_bytes(*bytes);
        // The lowest bit is exact. Above it, a borrow of the subtraction may mark a byte that is neither.
        let found = high_bits_of(bytes, b'"') | high_bits_of(bytes, b'\\');
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    memchr2(b'"', b'\\', &text[at..]).map(|further| at + further)
}

/// The high bits of those of eight bytes that are this one, and perhaps of some above it.
fn high_bits_of(bytes: u64, byte: u8) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let zero_if_found = bytes ^ (u64::from(byte) * ONES);
    zero_if_found.wrapping_sub(ONES) & !zero_if_found & (ONES << 7)
}

impl Default for Parser {
    fn default() -> Self {
        Self::new()
    }
}

impl Second {
    /// Seconds, a point, six digits of microseconds.
    fn time<'a>(&mut self, text: &'a [u8]) -> Option<(UnixTime, &'a [u8])> {
        let (secs, rest) = match text.split_first_chunk() {
            Some((second, rest)) if *second == self.text => (self.secs, rest),
            _ => self.another(text)?,
        };
        let (micros, after) = digits(rest)?;
        if rest.len() - after.len() != 6 {
            return None;
        }
        let nanos = secs.checked_mul(1_000_000_000)?.checked_add(micros * 1_000)?;
        Some((UnixTime::from_nanos(nanos), after))
    }

    /// Another second than that of the last line, and what follows its point.
    fn another<'a>(&mut self, text: &'a [u8]) -> Option<(i64, &'a [u8])> {
        let (secs, rest) = digits(text)?;
        let rest = rest.strip_prefix(b".")?;
        if let Ok(text) = text[..text.len() - rest.len()].try_into() {
            *self = Self { text, secs };
        }
        Some((secs, rest))
    }
}

fn database(text: &[u8]) -> Result<(u32, &[u8]), IllFormed> {
    let (number, rest) = digits(text).ok_or(IllFormed::Database)?;
    let rest = rest.strip_prefix(b" ").ok_or(IllFormed::Client)?;
    Ok((u32::try_from(number).map_err(|_| IllFormed::Database)?, rest))
}

/// A decimal number of at most 18 digits.
fn digits(text: &[u8]) -> Option<(i64, &[u8])> {
    let mut number = 0_i64;
    let mut length = 0;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        number = number.wrapping_mul(10).wrapping_add(i64::from(digit));
        length += 1;
    }
    (1..=18).contains(&length).then(|| (number, &text[length..]))
}

/// The length of an address, which a bracket, a space and a quote follow; addresses of IPv6 have brackets of their own.
fn end_of_client(text: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b']', text).find(|end| text[end + 1..].starts_with(b" \""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_line_says_why() {
        for (text, why) in [
            ("", IllFormed::Time),
            ("OK", IllFormed::Time),
            ("1700000000.12345 [0 a:1] \"GET\"", IllFormed::Time),
            ("99999999999999999999.123456 [0 a:1] \"GET\"", IllFormed::Time),
            ("1700000000.123456", IllFormed::Client),
            ("1700000000.123456 [x a:1] \"GET\"", IllFormed::Database),
            ("1700000000.123456 [0 a:1] GET", IllFormed::Client),
            ("1700000000.123456 [0 a:1", IllFormed::Client),
            ("1700000000.123456 [0 a:1] \"GET\" k", IllFormed::Words),
            ("1700000000.123456 [0 a:1] \"GET\"\"k\"", IllFormed::Words),
            ("1700000000.123456 [0 a:1] \"GET\" \"k", IllFormed::CutOff),
            ("1700000000.123456 [0 a:1] \"GET\" ", IllFormed::CutOff),
            ("1700000000.123456 [0 a:1] \"GET\" \"\\x4", IllFormed::CutOff),
            ("1700000000.123456 [0 a:1] \"GET\" \"\\q\"  ", IllFormed::Escape),
        ] {
            assert_eq!(Parser::new().parse(text.as_bytes()).map(|line| line.at).unwrap_err(), why, "{text}");
        }
    }

    #[test]
    fn every_kind_of_client() {
        for client in ["127.0.0.1:1", "[::1]:6379", "unix:/run/a] b.sock:0", "lua"] {
            let text = format!("+1700000000.000001 [15 {client}] \"PING\"");
            let mut parser = Parser::new();
            let line = parser.parse(text.as_bytes()).unwrap();
            let expected = if client == "lua" { Source::Script } else { Source::Client(client.as_bytes()) };
            assert_eq!((line.source, line.database, line.words().len()), (expected, 15, 1));
            assert_eq!(line.at.as_nanos(), 1_700_000_000_000_001_000);
        }
    }
}
