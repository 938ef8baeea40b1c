//! Standard output: where results go, as text or as JSON.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use serde::Serialize;

use super::exit::{Failure, unless_closed};
use super::global_options::GlobalOptions;
use crate::report::{Report, folded};

/// Prints a result as text or as JSON.
pub(super) fn print(report: &impl Report, global: &GlobalOptions) -> Result<(), Failure> {
    let text = if global.json {
        serde_json::to_string_pretty(report).expect("every field of a report has a JSON form") + "\n"
    } else {
        let width = width();
        let text = report.text(width);
        width.map_or_else(|| text.clone(), |width| folded(&text, width))
    };
    self::text(&text)
}

/// Prints a text.
pub(super) fn text(text: &str) -> Result<(), Failure> {
    let mut page = anstream::stdout();
    unless_closed(page.write_all(text.as_bytes()).and_then(|()| page.flush()))
}

/// A JSON object on its way to standard output, whose first field is an array that is never in memory as a whole.
pub(super) struct JsonListStream {
    out: BufWriter<Stdout>,
    opening: String,
    is_closed: bool,
}

impl JsonListStream {
    /// An object whose first field has this name.
    pub(super) fn begin(array: &str) -> Self {
        Self { out: BufWriter::new(io::stdout()), opening: format!("{{\n  \"{array}\": [\n    "), is_closed: false }
    }

    /// Whether the reader has closed it.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// One more element.
    pub(super) fn add(&mut self, element: &impl Serialize) -> Result<(), Failure> {
        let json = serde_json::to_string(element).expect("every field of a report has a JSON form");
        let written = write!(self.out, "{}{json}", self.opening);
        self.opening = ",\n    ".to_owned();
        self.is_closed = written.is_err();
        unless_closed(written)
    }

    /// The other fields, and the end.
    pub(super) fn end(mut self, rest: &impl Serialize) -> Result<(), Failure> {
        let json = serde_json::to_string_pretty(rest).expect("every field of a report has a JSON form");
        let fields = json.strip_prefix('{').expect("the rest is an object");
        let written = match self.opening.starts_with('{') {
            true => write!(self.out, "{}\n  ],{fields}\n", self.opening.trim_end()),
            false => write!(self.out, "\n  ],{fields}\n"),
        };
        unless_closed(written.and_then(|()| self.out.flush()))
    }
}

/// Where standard error stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinePosition {
    /// At the begin of a line.
    Begin,
    /// Perhaps within a line of another program: on a pipe or a terminal nobody can look.
    Unknown,
}

/// A line of JSON for standard error, where standard output belongs to another program.
pub(super) fn note(report: &impl Serialize, position: LinePosition) -> String {
    let json = serde_json::to_string(report).expect("every field of a report has a JSON form");
    match position {
        LinePosition::Begin => json,
        LinePosition::Unknown => format!("\n{json}"),
    }
}

/// How many columns the terminal has; `None` without a terminal. One that does not know its size has as many as terminals
/// used to have.
fn width() -> Option<u16> {
    const USUAL: u16 = 80;
    let width = || comfy_table::Table::new().width().filter(|columns| *columns > 0).unwrap_or(USUAL);
    std::io::stdout().is_terminal().then(width)
}
