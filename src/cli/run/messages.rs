//! What `run` says on standard error. A thread of its own prints it: where nobody reads, only that thread waits, and the
//! command is still ended in time and the lock released.

use std::fmt::Display;

use crate::cli::exit::{Failure, Verbosity, warning};
use crate::cli::line_printer::LinePrinter;

/// The lines that are to be printed.
pub(super) struct Messages {
    verbosity: Verbosity,
    lines: LinePrinter,
}

impl Messages {
    /// Starts the thread.
    pub(super) fn start(verbosity: Verbosity) -> Result<Self, Failure> {
        Ok(Self { verbosity, lines: LinePrinter::start(anstream::stderr())? })
    }

    /// Prints a warning, unless quiet. Does not wait for that.
    pub(super) fn warn(&self, sentence: impl Display) {
        match self.verbosity {
            Verbosity::Normal => self.line(warning(sentence)),
            Verbosity::Quiet => {}
        }
    }

    /// Prints a line. Does not wait for that.
    pub(super) fn line(&self, line: String) {
        self.lines.line(&line);
    }

    /// Waits until everything is printed, but not for ever.
    pub(super) fn finish(self) {
        self.lines.finish();
    }
}
