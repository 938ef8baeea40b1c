//! The file of `--password-file`: passwords are replaced while a command runs, so it is read again for each connection.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::exit::{Exit, Failure, warn};
use super::os_error;

/// A file with a password.
pub(super) struct PasswordFile {
    path: PathBuf,
    /// A pipe can be read once.
    is_regular: bool,
    /// The password that was read last.
    last: Mutex<String>,
}

impl PasswordFile {
    /// The file at this path.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let last = Mutex::new(read(path).map_err(|sentence| Failure::new(Exit::Usage, sentence))?);
        let is_regular = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
        Ok(Self { path: path.to_owned(), is_regular, last })
    }

    /// The password that it contains now. If it cannot be read, a warning is printed, and it is the last one that was read.
    pub(super) fn password(&self) -> String {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_regular {
            match read(&self.path) {
                Ok(password) => *last = password,
                Err(sentence) => warn(format_args!("{sentence}: using the password that was read before")),
            }
        }
        last.clone()
    }
}

/// The password in a file, or the reason why there is none, as a sentence.
fn read(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let bytes =
        std::fs::read(path).map_err(|error| format!("cannot read `{shown}`: {}", os_error::sentence(&error)))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("the password in `{shown}` is not UTF-8"))?;
    let password = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    if password.is_empty() {
        return Err(format!("there is no password in `{shown}`"));
    }
    Ok(password.to_owned())
}
