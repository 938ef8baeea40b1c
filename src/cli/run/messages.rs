//! What `run` says on standard error. A thread of its own prints it: where nobody reads, only that thread waits, and the
//! command is still ended in time and the lock released.

use std::fmt::Display;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use crate::cli::exit::{Exit, Failure, Verbosity, error_line, warning};
use crate::cli::os_error;

/// How long the last lines may take. No reader is that slow, unless it has stopped reading.
const PATIENCE: Duration = Duration::from_secs(5);

/// The lines that are to be printed.
pub(super) struct Messages {
    verbosity: Verbosity,
    lines: Sender<String>,
    /// Closed once all of them are printed.
    printed: Receiver<()>,
}

impl Messages {
    /// Starts the thread.
    pub(super) fn start(verbosity: Verbosity) -> Result<Self, Failure> {
        // One run has a handful of them, so no bound is needed.
        let (lines, queue) = channel::<String>();
        let (printing, printed) = channel();
        let print = move || {
            queue.iter().for_each(error_line);
            drop(printing);
        };
        let failed =
            |error| Failure::new(Exit::Unusable, format_args!("cannot start a thread: {}", os_error::sentence(&error)));
        Builder::new().name("lockshift-messages".into()).spawn(print).map_err(failed)?;
        Ok(Self { verbosity, lines, printed })
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
        // The thread ends after us.
        let _ = self.lines.send(line);
    }

    /// Waits until everything is printed, but not for ever.
    pub(super) fn finish(self) {
        drop(self.lines);
        let _ = self.printed.recv_timeout(PATIENCE);
    }
}
