//! The events of a running guard, written to a file as they happen.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::event_line::EventLine;
use crate::cli::exit::{Exit, Failure};
use crate::cli::file::ReadableBy;
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
        let file = open(path, OFlags::empty()).map_err(|error| {
            let because = os_error::sentence(&error);
            Failure::new(Exit::Unusable, format_args!("cannot write {}: {because}", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), writing: Mutex::new(Writing { file, has_stopped: false, failed: None }) })
    }

    /// Goes on in a new file of the same name: the old one may have been renamed.
    pub(super) fn reopen(&self) -> io::Result<()> {
        // The guard does not wait for a reader of a pipe now.
        let file = open(&self.path, OFlags::NONBLOCK)?;
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
        if let Err(error) = write_line(&mut writing.file, &text) {
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

fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags.bits().try_into().map_err(io::Error::other)?;
    let file =
        OpenOptions::new().create(true).append(true).mode(ReadableBy::Owner.mode()).custom_flags(flags).open(path)?;
    if file.metadata()?.file_type().is_fifo() {
        // All clients would wait for its reader.
        fcntl_setfl(&file, fcntl_getfl(&file)? | OFlags::NONBLOCK)?;
    }
    Ok(file)
}

/// Writes a line, at once if possible: what is read meanwhile ends with a complete line. A pipe that is full is tried again for
/// about a second.
fn write_line(file: &mut File, line: &[u8]) -> io::Result<()> {
    const PAUSE: Duration = Duration::from_millis(20);
    let (mut rest, mut pauses) = (line, 50);
    while !rest.is_empty() {
        match file.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if pauses == 0 {
                    return Err(io::Error::other("the pipe is full, and nobody reads it"));
                }
                pauses -= 1;
                host::sleep(PAUSE);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
