//! Traces as they are named on the command line: files in a row, or standard input.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use super::exit::{Exit, Failure, warn};
use super::progress::Share;
use crate::monitor::{IllFormed, Line, Lines, Parser, Text};

/// One part of a trace.
#[derive(Clone, Debug)]
pub(super) enum Input {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

impl Input {
    /// What was typed; `-` is standard input.
    pub(super) fn all(typed: &[PathBuf]) -> Vec<Self> {
        let one = |path: &PathBuf| if path == Path::new("-") { Self::Stdin } else { Self::File(path.clone()) };
        typed.iter().map(one).collect()
    }

    fn open(&self) -> io::Result<(Box<dyn Read>, u64)> {
        Ok(match self {
            Self::File(path) => {
                let file = File::open(path)?;
                let length = file.metadata()?.len();
                (Box::new(file), length)
            }
            Self::Stdin => (Box::new(io::stdin()), 0),
        })
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Stdin => f.write_str("standard input"),
        }
    }
}

/// So many lines that are none are named one by one.
const MOST_NAMED: u64 = 10;
/// So much of a part is looked at to see whether a line of the one before goes on in it.
const PEEKED: usize = 1 << 16;

/// Reads all parts as one trace: lines are numbered through. A line that is cut in two where one part ends and the next
/// begins, as it may happen to logs that are rotated, is a line of the next.
pub(super) fn read(inputs: &[Input], hear: &mut dyn FnMut(u64, &Line<'_>)) -> Result<(), Failure> {
    let mut reading = Reading { parser: Parser::new(), before: 0, named: 0, hear };
    let mut pending: Option<Cut<'_>> = None;
    for (at, input) in inputs.iter().enumerate() {
        let unusable = |error| Failure::new(Exit::Unusable, format_args!("{input}: {error}"));
        let (source, length) = input.open().map_err(unusable)?;
        let progress = Share::of(length, input.to_string());
        let mut source = BufReader::with_capacity(PEEKED, progress.watching(source));
        let head = source.fill_buf().map_err(unusable)?;
        let begun = pending.take().and_then(|cut| reading.join(cut, head)).unwrap_or_default();
        let mut lines = Lines::new(Cursor::new(begun).chain(source));
        let mut last = 0;
        while let Some(text) = lines.next_line().map_err(unusable)? {
            match text {
                Text::Cut(number, text) if at + 1 < inputs.len() => {
                    pending = Some(Cut { input, number, text: text.to_vec() });
                    break;
                }
                Text::Line(number, text) | Text::Cut(number, text) => {
                    reading.line(input, number, text);
                    last = number;
                }
                Text::TooLong(number) => {
                    reading.pass_over(input, number, &IllFormed::TooLong);
                    last = number;
                }
            }
        }
        if pending.is_none() {
            reading.before += last;
        }
    }
    if reading.named > MOST_NAMED {
        warn(format_args!("{} more lines were passed over", reading.named - MOST_NAMED));
    }
    Ok(())
}

/// The end of a part that has no line feed.
struct Cut<'a> {
    input: &'a Input,
    number: u64,
    text: Vec<u8>,
}

/// A trace that is being read.
struct Reading<'a> {
    parser: Parser,
    /// The lines of all parts before this one.
    before: u64,
    /// The lines that were passed over.
    named: u64,
    hear: &'a mut dyn FnMut(u64, &Line<'_>),
}

impl Reading<'_> {
    /// A line of a part, by its number in it.
    fn line(&mut self, input: &Input, number: u64, text: &[u8]) {
        match self.parser.parse(text) {
            Ok(line) => (self.hear)(self.before + number, &line),
            Err(_) if is_greeting(text) || text.is_empty() => {}
            Err(why) => self.pass_over(input, number, &why),
        }
    }

    /// What the part that begins with this head has to begin with besides: the line before, if that goes on in it. If not,
    /// that was a line by itself.
    fn join(&mut self, cut: Cut<'_>, head: &[u8]) -> Option<Vec<u8>> {
        let end = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let joined = [&cut.text, end.strip_suffix(b"\r").unwrap_or(end)].concat();
        if is_greeting(&joined) || self.parser.parse(&joined).is_ok() {
            self.before += cut.number - 1;
            return Some(cut.text);
        }
        self.line(cut.input, cut.number, &cut.text);
        self.before += cut.number;
        None
    }

    fn pass_over(&mut self, input: &Input, number: u64, why: &IllFormed) {
        self.named += 1;
        if self.named <= MOST_NAMED {
            warn(format_args!("{input}:{number}: passed over: {why}"));
        }
    }
}

/// What MONITOR itself is answered.
fn is_greeting(text: &[u8]) -> bool {
    text == b"OK" || text == b"+OK"
}
