//! Files that somebody asked for: whole, or not there.

use std::io::{self, Write};
use std::path::Path;

use super::exit::{Exit, Failure};

/// Writes a file. Whoever opens it sees the old one or the whole new one, never a part.
pub(super) fn write(path: &Path, contents: &str) -> Result<(), Failure> {
    whole(path, contents).map_err(|error| Failure::new(Exit::Unusable, format_args!("{}: {error}", path.display())))
}

/// Writes a file piece by piece. It is there when all of it is.
pub(super) fn write_by<T>(path: &Path, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<T>) -> Result<T, Failure> {
    whole_by(path, write).map_err(|error| Failure::new(Exit::Unusable, format_args!("{}: {error}", path.display())))
}

fn whole(path: &Path, contents: &str) -> io::Result<()> {
    whole_by(path, &mut |file| file.write_all(contents.as_bytes()))
}

fn whole_by<T>(path: &Path, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".lockshift-").permissions(readable()).tempfile_in(directory)?;
    let written = write(&mut file)?;
    file.as_file().sync_all()?;
    file.persist(path).map(|_| written).map_err(|unfinished| unfinished.error)
}

/// As any other new file, after the mask of the process.
fn readable() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}
