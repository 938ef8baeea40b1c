//! The events of a running guard, written to a file as they happen.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::event_line::EventLine;
use crate::cli::exit::{Exit, Failure};
use crate::cli::os_error;
use crate::driver::host;
use crate::wire::UnixTime;

/// A file of events.
pub(super) struct EventLog {
    path: PathBuf,
    writing: Mutex<Writing>,
}

struct Writing {
    file: File,
    /// Whether nothing is written any more, until a new file is opened.
    has_stopped: bool,
    /// The first error.
    failed: Option<io::Error>,
}

impl EventLog {
    /// A log that is appended to this file.
    pub(super) fn append_to(path: &Path) -> Result<Self, Failure> {
        let file = open(path).map_err(|error| {
            let because = os_error::sentence(&error);
            Failure::new(Exit::Unusable, format_args!("cannot write {}: {because}", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), writing: Mutex::new(Writing { file, has_stopped: false, failed: None }) })
    }

    /// Goes on in a new file of the same name: the old one may have been renamed.
    pub(super) fn reopen(&self) -> io::Result<()> {
        let file = open(&self.path)?;
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        (writing.file, writing.has_stopped) = (file, false);
        Ok(())
    }

    /// Writes the line of an event at this moment.
    pub(super) fn add(&self, line: impl FnOnce(UnixTime) -> EventLine) {
        // The moment is taken under the lock, so that the lines are in the order of their times.
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if writing.has_stopped {
            return;
        }
        let mut text = serde_json::to_vec(&line(host::wall())).expect("an event can be written as JSON");
        text.push(b'\n');
        // One write for each line: what is read meanwhile ends with a complete line.
        if let Err(error) = writing.file.write_all(&text) {
            log::error!(target: "lockshift::guard", "cannot write events any more, until SIGHUP opens the file anew: {error}");
            writing.has_stopped = true;
            writing.failed.get_or_insert(error);
        }
    }

    /// Why the file is incomplete, if it is.
    pub(super) fn failure(&self) -> Option<io::Error> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner).failed.take()
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}
