//! From the bytes of one line to what it says, in one pass and without a copy.

use memchr::memchr2;

use super::ill_formed::IllFormed;
use super::line::{Line, LineWords, Source, WordSpan};
use super::word::escape;
use crate::wire::UnixTime;

/// Understands lines, one after the other.
#[derive(Debug, Default)]
pub struct Parser {
    /// Where the words of the last line are: kept, so that no line needs memory of its own.
    spans: Vec<WordSpan>,
}

impl Parser {
    /// A parser that has seen nothing.
    pub const fn new() -> Self {
        Self { spans: Vec::new() }
    }

    /// Understands one line, without its line feed.
    ///
    /// # Errors
    /// [`IllFormed`]: it is not one of MONITOR's.
    pub fn parse<'a>(&'a mut self, text: &'a [u8]) -> Result<Line<'a>, IllFormed> {
        let text = text.strip_prefix(b"+").unwrap_or(text);
        let (at, rest) = time(text).ok_or(IllFormed::Time)?;
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
        at += memchr2(b'"', b'\\', &text[at..]).ok_or(IllFormed::CutOff)?;
        if text[at] == b'"' {
            return Ok((at, is_plain));
        }
        is_plain = false;
        let after = &text[at + 1..];
        let (_, length) = escape(after).ok_or(if after.len() < 3 { IllFormed::CutOff } else { IllFormed::Escape })?;
        at += 1 + length;
    }
}

/// Seconds, a point, six digits of microseconds.
fn time(text: &[u8]) -> Option<(UnixTime, &[u8])> {
    let (secs, rest) = digits(text)?;
    let rest = rest.strip_prefix(b".")?;
    let (micros, after) = digits(rest)?;
    if rest.len() - after.len() != 6 {
        return None;
    }
    let nanos = secs.checked_mul(1_000_000_000)?.checked_add(micros * 1_000)?;
    Some((UnixTime::from_nanos(nanos), after))
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
