//! Traces as they are named on the command line: files in a row, or standard input.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
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

/// Reads all parts as one trace: lines are numbered through.
pub(super) fn read(inputs: &[Input], hear: &mut dyn FnMut(u64, &Line<'_>)) -> Result<(), Failure> {
    let mut parser = Parser::new();
    let mut before = 0;
    let mut named = 0;
    for input in inputs {
        let unusable = |error| Failure::new(Exit::Unusable, format_args!("{input}: {error}"));
        let (source, length) = input.open().map_err(unusable)?;
        let progress = Share::of(length, input.to_string());
        let mut lines = Lines::new(progress.watching(source));
        let mut last = 0;
        while let Some(text) = lines.next_line().map_err(unusable)? {
            let (number, parsed) = match text {
                Text::Line(number, b"OK" | b"+OK" | b"") => {
                    last = number;
                    continue;
                }
                Text::Line(number, line) => (number, parser.parse(line)),
                Text::TooLong(number) => (number, Err(IllFormed::TooLong)),
            };
            last = number;
            match parsed {
                Ok(line) => hear(before + number, &line),
                Err(why) => {
                    named += 1;
                    if named <= MOST_NAMED {
                        warn(format_args!("{input}:{number}: passed over: {why}"));
                    }
                }
            }
        }
        before += last;
    }
    if named > MOST_NAMED {
        warn(format_args!("{} more lines were passed over", named - MOST_NAMED));
    }
    Ok(())
}
