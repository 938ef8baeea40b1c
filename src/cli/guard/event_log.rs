//! The events of a running guard, written to a file as they happen.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use super::event_line::EventLine;
use crate::driver::host;
use crate::proxy::ProxyEvent;

/// A file of events.
pub(super) struct EventLog {
    writing: Mutex<Writing>,
}

struct Writing {
    file: File,
    failed: Option<io::Error>,
}

impl EventLog {
    /// A log that is written to this file.
    pub(super) fn to(file: File) -> Self {
        Self { writing: Mutex::new(Writing { file, failed: None }) }
    }

    /// Writes an event down.
    pub(super) fn add(&self, event: ProxyEvent) {
        // The moment is taken under the lock, so that the lines are in the order of their times.
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if writing.failed.is_some() {
            return;
        }
        let mut text =
            serde_json::to_vec(&EventLine::of(event, host::wall())).expect("an event can be written as JSON");
        text.push(b'\n');
        // One write for each line: what is read meanwhile ends with a complete line.
        if let Err(error) = writing.file.write_all(&text) {
            log::error!(target: "lockshift::guard", "cannot write events any more: {error}");
            writing.failed = Some(error);
        }
    }

    /// Why the file is incomplete, if it is.
    pub(super) fn failure(&self) -> Option<io::Error> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner).failed.take()
    }
}
