//! Cutting a file or a pipe into lines, without a copy and without an end in sight.

use std::io::{self, ErrorKind, Read};

use memchr::memchr;

/// So much is read at a time.
const CHUNK: usize = 1 << 18;
/// Longer lines are passed over: a value of that size is no lock.
const LONGEST: usize = 1 << 24;

/// The lines of a text that may never end. Memory is bound by the longest line.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// What is read and not yet handed out.
    begin: usize,
    end: usize,
    number: u64,
    ended: bool,
}

/// One line of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text<'a> {
    /// The line, without its line feed, and its number, counted from 1.
    Line(u64, &'a [u8]),
    /// The last line, where it has no line feed: its writer may not have finished it.
    Cut(u64, &'a [u8]),
    /// A line of which so much has been seen that it was passed over.
    TooLong(u64),
}

impl<R: Read> Lines<R> {
    /// The lines of `input`.
    pub fn new(input: R) -> Self {
        Self { input, buffer: vec![0; CHUNK], begin: 0, end: 0, number: 0, ended: false }
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn next_line(&mut self) -> io::Result<Option<Text<'_>>> {
        let mut searched = 0;
        loop {
            if let Some(length) = memchr(b'\n', &self.buffer[self.begin + searched..self.end]) {
                return Ok(Some(self.hand_out(searched + length, true)));
            }
            searched = self.end - self.begin;
            if searched > LONGEST {
                return self.pass_over().map(Some);
            }
            if self.ended || !self.fill()? {
                self.ended = true;
                return Ok((searched > 0).then(|| self.hand_out(searched, false)));
            }
        }
    }

    fn hand_out(&mut self, length: usize, is_whole: bool) -> Text<'_> {
        let begin = self.begin;
        self.begin += length + usize::from(is_whole);
        self.number += 1;
        let line = &self.buffer[begin..begin + length];
        if is_whole {
            Text::Line(self.number, line.strip_suffix(b"\r").unwrap_or(line))
        } else {
            Text::Cut(self.number, line)
        }
    }

    /// Drops all up to the next line feed.
    fn pass_over(&mut self) -> io::Result<Text<'_>> {
        self.number += 1;
        loop {
            (self.begin, self.end) = (0, 0);
            if !self.fill()? {
                self.ended = true;
                return Ok(Text::TooLong(self.number));
            }
            if let Some(length) = memchr(b'\n', &self.buffer[..self.end]) {
                self.begin = length + 1;
                return Ok(Text::TooLong(self.number));
            }
        }
    }

    /// Reads more: whether there was any.
    fn fill(&mut self) -> io::Result<bool> {
        if self.begin > 0 {
            self.buffer.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(read) => {
                    self.end += read;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe that hands out so many bytes at a time.
    struct Dripping<'a>(&'a [u8], usize);

    impl Read for Dripping<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.0.len().min(self.1).min(buffer.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    fn all(text: &[u8], drop: usize) -> Vec<(u64, Option<Vec<u8>>)> {
        lines_of(text, drop).into_iter().map(|(number, line, _)| (number, line)).collect()
    }

    /// Each line, and whether it has an end.
    fn lines_of(text: &[u8], drop: usize) -> Vec<(u64, Option<Vec<u8>>, bool)> {
        let mut lines = Lines::new(Dripping(text, drop));
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            found.push(match line {
                Text::Line(number, line) => (number, Some(line.to_vec()), true),
                Text::Cut(number, line) => (number, Some(line.to_vec()), false),
                Text::TooLong(number) => (number, None, true),
            });
        }
        found
    }

    #[test]
    fn lines_with_and_without_an_end() {
        let expected = [(1, Some(b"one".to_vec())), (2, Some(Vec::new())), (3, Some(b"a longer third".to_vec()))];
        assert_eq!(all(b"one\r\n\na longer third", 7), expected);
        assert_eq!(all(b"one\n\na longer third\n", 7), expected);
        assert_eq!(all(b"", 7), []);
        let has_end = |text: &[u8]| lines_of(text, 7).last().map(|(_, _, has_end)| *has_end);
        assert_eq!((has_end(b"one\ntwo"), has_end(b"one\ntwo\n")), (Some(false), Some(true)));
    }

    #[test]
    fn a_line_without_end_is_passed_over() {
        let text = [b"one\n".to_vec(), vec![b'x'; LONGEST + 2 * CHUNK], b"\nthree\n".to_vec()].concat();
        assert_eq!(all(&text, 40_000), [(1, Some(b"one".to_vec())), (2, None), (3, Some(b"three".to_vec()))]);
    }
}
