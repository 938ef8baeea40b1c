//! Standard output: where results go, as text or as JSON.

use std::io::{IsTerminal, Write};

use serde::Serialize;

use super::everywhere::Everywhere;
use super::exit::{Failure, unless_closed};
use crate::report::Report;

/// Prints a result the way that was asked for.
pub(super) fn print(report: &impl Report, everywhere: &Everywhere) -> Result<(), Failure> {
    let text = if everywhere.json {
        serde_json::to_string_pretty(report).expect("every field of a report has a JSON form") + "\n"
    } else {
        report.text(width())
    };
    self::text(&text)
}

/// Prints a text.
pub(super) fn text(text: &str) -> Result<(), Failure> {
    let mut page = anstream::stdout();
    unless_closed(page.write_all(text.as_bytes()).and_then(|()| page.flush()))
}

/// Adds a line of JSON to standard error, where standard output is somebody else's.
pub(super) fn note(report: &impl Serialize) {
    let json = serde_json::to_string(report).expect("every field of a report has a JSON form");
    // A closed standard error leaves nobody to tell.
    let _ = writeln!(std::io::stderr(), "{json}");
}

/// How many columns there are; none are counted where nobody looks.
fn width() -> Option<u16> {
    if std::io::stdout().is_terminal() { comfy_table::Table::new().width() } else { None }
}
