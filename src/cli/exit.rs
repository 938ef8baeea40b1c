//! How the command ends: its exit status, and one sentence where it could not do what it was asked.

use std::io::{self, Write};
use std::process::ExitCode;

use super::os_error;

/// The exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// 0: yes, or done.
    Yes,
    /// 1: no.
    No,
    /// 2: what was typed makes no sense.
    Usage,
    /// 3: the server or the input cannot be used.
    Unusable,
    /// 4: the reply was lost, and with it the outcome.
    Unknown,
    /// 5: the lock was lost while the command ran, or the command was ended because it was about to be.
    Lost,
    /// That of the command that was run, or 128 and a signal.
    Of(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Yes => 0,
            Exit::No => 1,
            Exit::Usage => 2,
            Exit::Unusable => 3,
            Exit::Unknown => 4,
            Exit::Lost => 5,
            Exit::Of(status) => status,
        })
    }
}

/// Why a command could not do what it was asked: what happened and where, and what to do about it.
#[derive(Debug)]
pub(super) struct Failure {
    exit: Exit,
    sentence: String,
}

impl Failure {
    /// It ends with this status and this sentence.
    pub(super) fn new(exit: Exit, sentence: impl ToString) -> Self {
        Self { exit, sentence: sentence.to_string() }
    }

    /// What happened.
    pub(super) fn sentence(&self) -> &str {
        &self.sentence
    }

    /// The exit status.
    pub(super) fn exit(&self) -> Exit {
        self.exit
    }

    /// Says so on standard error.
    pub(super) fn tell(self) -> Exit {
        warn(&self.sentence);
        self.exit
    }
}

/// A reader that closes our output early is not a failure. Any other error is.
pub(super) fn unless_closed(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Unusable, format_args!("standard output: {}", os_error::sentence(&error))))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Whether warnings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verbosity {
    /// They are.
    Normal,
    /// The exit status has to do.
    Quiet,
}

impl Verbosity {
    /// One line on standard error, unless quiet.
    pub(super) fn warn(self, sentence: impl std::fmt::Display) {
        match self {
            Self::Normal => warn(sentence),
            Self::Quiet => {}
        }
    }
}

/// One line on standard error, under the command's name.
pub(super) fn warn(sentence: impl std::fmt::Display) {
    error_line(warning(sentence));
}

/// That line.
pub(super) fn warning(sentence: impl std::fmt::Display) -> String {
    format!("lockshift: {sentence}")
}

/// One line on standard error, written at once: another program may write to it too, and its words would stand in the middle.
pub(super) fn error_line(line: impl std::fmt::Display) {
    // Nothing can be reported on a closed standard error.
    let _ = anstream::stderr().write_all(format!("{line}\n").as_bytes());
}
