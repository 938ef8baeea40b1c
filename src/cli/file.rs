//! Output files: they get their name when they are complete. A device or a pipe is written to directly.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::exit::{Exit, Failure};
use super::os_error;

/// Writes a file. A reader sees the old file or the complete new one, never a part.
pub(super) fn write(path: &Path, contents: &str) -> Result<(), Failure> {
    let written = NewFile::begin(path, ReadableBy::Anyone).and_then(|mut file| {
        file.write_all(contents.as_bytes())?;
        file.keep()
    });
    written.map_err(|error| unusable(path, &error))
}

/// A file that cannot be written, for this reason.
pub(super) fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Unusable, format_args!("{}: {}", path.display(), os_error::sentence(error)))
}

/// A file that is being written. It gets its name, in place of a file of that name, when it is complete; a process that
/// is killed before that leaves nothing, where the file system knows files without a name.
pub(super) struct NewFile(Target);

enum Target {
    /// A device or a pipe, which nothing may take the place of.
    Stream(File),
    /// It has no name at all, and vanishes with this process.
    Nameless(File, PathBuf),
    /// It has another name, because the system or the file system knows no files without one.
    Named(NamedTempFile, PathBuf),
}

/// Who may read a file that is new. One that stands in the place of another has the permissions of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadableBy {
    /// Whom the mask of the process allows to.
    Anyone,
    /// Its owner: keys and values of production are in it.
    Owner,
}

impl ReadableBy {
    /// The mode of the file, before the mask of the process.
    pub(super) fn mode(self) -> u32 {
        match self {
            Self::Anyone => 0o666,
            Self::Owner => 0o600,
        }
    }
}

impl NewFile {
    /// Begins the file that will stand under this name; links are followed.
    pub(super) fn begin(path: &Path, readable: ReadableBy) -> io::Result<Self> {
        let replaced = fs::metadata(path);
        let permissions = replaced.as_ref().ok().map(fs::Metadata::permissions);
        let place = match replaced {
            Ok(there) if there.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(there) if there.is_file() => fs::canonicalize(path)?,
            Ok(_) => return OpenOptions::new().write(true).open(path).map(|stream| Self(Target::Stream(stream))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(error),
        };
        let directory = directory(&place);
        if !directory.is_dir() {
            return Err(io::Error::other(format!("there is no directory {}", directory.display())));
        }
        let mut begun = match nameless(directory, readable.mode()) {
            Some(file) => Self(Target::Nameless(file, place)),
            None => {
                let mode = PermissionsExt::from_mode(readable.mode());
                let begun = tempfile::Builder::new().prefix(".lockshift-").permissions(mode).tempfile_in(directory);
                // The error's own text names the temporary file, which the user does not know.
                Self(Target::Named(begun.map_err(|error| io::Error::from(error.kind()))?, place))
            }
        };
        if let Some(permissions) = permissions {
            begun.file().set_permissions(permissions)?;
        }
        Ok(begun)
    }

    /// Gives it its name.
    pub(super) fn keep(self) -> io::Result<()> {
        match self.0 {
            Target::Stream(_) => Ok(()),
            Target::Nameless(file, place) => {
                file.sync_all()?;
                name(&file, &place)
            }
            Target::Named(file, place) => {
                file.as_file().sync_all()?;
                file.persist(place).map(drop).map_err(|unfinished| unfinished.error)
            }
        }
    }

    /// Gives it its name, with all lines that are whole and this one behind them. Where it has no room, it takes that of the last
    /// ones.
    pub(super) fn keep_lines(mut self, last: Option<&str>) -> io::Result<()> {
        if !matches!(self.0, Target::Stream(_)) {
            end_with(self.file(), 0, last)?;
        }
        self.keep()
    }

    /// Has the system write what it has received.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        match &self.0 {
            Target::Stream(_) => Ok(()),
            Target::Nameless(file, _) => file.sync_all(),
            Target::Named(file, _) => file.as_file().sync_all(),
        }
    }

    fn file(&mut self) -> &mut File {
        match &mut self.0 {
            Target::Stream(file) | Target::Nameless(file, _) => file,
            Target::Named(file, _) => file.as_file_mut(),
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

fn directory(place: &Path) -> &Path {
    place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(target_os = "linux")]
fn nameless(directory: &Path, mode: u32) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    open(directory, flags, Mode::from_raw_mode(mode)).map(File::from).ok()
}

#[cfg(not(target_os = "linux"))]
fn nameless(_: &Path, _: u32) -> Option<File> {
    None
}

/// Gives the file its name: first another one, since a link replaces nothing.
#[cfg(target_os = "linux")]
fn name(file: &File, place: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{AtFlags, CWD, linkat};
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    let linked = tempfile::Builder::new()
        .prefix(".lockshift-")
        .make_in(directory(place), |beside| Ok(linkat(CWD, unnamed.as_str(), CWD, beside, AtFlags::SYMLINK_FOLLOW)?))?;
    linked.persist(place).map_err(|unfinished| unfinished.error)
}

#[cfg(not(target_os = "linux"))]
fn name(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Ends a file that may have no room: with lines that are whole, and this one behind them. What stands before `from` is not
/// ours.
pub(super) fn end_with(file: &mut File, from: u64, last: Option<&str>) -> io::Result<()> {
    // Less than a block frees nothing on some file systems, and is enough on most.
    const ROOM: [u64; 2] = [0, 1 << 16];
    cut_to_lines(file, from, 0)?;
    let Some(last) = last.map(|last| format!("{last}\n")) else { return Ok(()) };
    for more in ROOM {
        cut_to_lines(file, from, more + last.len() as u64)?;
        file.seek(SeekFrom::End(0))?;
        if file.write_all(last.as_bytes()).is_ok() {
            return Ok(());
        }
    }
    cut_to_lines(file, from, 0)
}

/// Takes away so many of the last bytes, and what stands behind the last end of a line before them; nothing before `from`.
fn cut_to_lines(file: &mut File, from: u64, room: u64) -> io::Result<()> {
    const PIECE: u64 = 4096;
    let mut end = file.seek(SeekFrom::End(0))?.saturating_sub(room);
    while end > from {
        let begin = end.saturating_sub(PIECE).max(from);
        let mut piece = Vec::new();
        file.seek(SeekFrom::Start(begin))?;
        (&*file).take(end - begin).read_to_end(&mut piece)?;
        if let Some(last) = piece.iter().rposition(|byte| *byte == b'\n') {
            return file.set_len(begin + last as u64 + 1);
        }
        end = begin;
    }
    let is_longer = file.metadata()?.len() > from;
    if is_longer { file.set_len(from) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(text: &str) -> String {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        cut_to_lines(&mut file, 0, 0).unwrap();
        file.rewind().unwrap();
        io::read_to_string(file).unwrap()
    }

    #[test]
    fn what_is_cut_ends_with_a_line() {
        let long = "x".repeat(10_000);
        for (text, expected) in [
            ("", ""),
            ("half", ""),
            ("one\n", "one\n"),
            ("one\ntwo\nhal", "one\ntwo\n"),
            (&format!("one\n{long}"), "one\n"),
            (&format!("{long}\n{long}\nhal"), &format!("{long}\n{long}\n")),
        ] {
            assert!(left(text) == expected, "{} bytes of {}", left(text).len(), text.len());
        }
    }

    #[test]
    fn the_last_line_takes_the_room_of_others() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"one\ntwo\nthree\nfou").unwrap();
        end_with(&mut file, 0, Some("end")).unwrap();
        file.rewind().unwrap();
        assert_eq!(io::read_to_string(file).unwrap(), "one\ntwo\nend\n");
    }

    #[test]
    fn what_stood_in_a_file_before_is_not_taken_away() {
        for (text, from, expected) in [
            ("one\ntwo\n", 8, "one\ntwo\nend\n"),
            ("one\ntwo\nthr", 8, "one\ntwo\nend\n"),
            ("one\ntwo\nthree\nfou", 8, "one\ntwo\nend\n"),
            ("one", 3, "oneend\n"),
        ] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            end_with(&mut file, from, Some("end")).unwrap();
            file.rewind().unwrap();
            assert_eq!(io::read_to_string(file).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_pipe_is_written_to_and_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for writes in [(|pipe| write(pipe, "text").unwrap()) as fn(&Path), |pipe| {
            let mut file = NewFile::begin(pipe, ReadableBy::Owner).unwrap();
            file.write_all(b"text").unwrap();
            file.keep_lines(Some("end")).unwrap();
        }] {
            let reader = std::thread::spawn({
                let pipe = pipe.clone();
                move || fs::read_to_string(pipe).unwrap()
            });
            writes(&pipe);
            assert!(!fs::metadata(&pipe).unwrap().is_file());
            assert_eq!(reader.join().unwrap(), "text");
        }
    }

    #[test]
    fn a_file_that_is_replaced_keeps_who_may_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        let keep = |readable| NewFile::begin(&path, readable).and_then(NewFile::keep).unwrap();
        keep(ReadableBy::Owner);
        assert_eq!(mode(), 0o600);
        for theirs in [0o640, 0o604] {
            fs::set_permissions(&path, PermissionsExt::from_mode(theirs)).unwrap();
            keep(ReadableBy::Owner);
            assert_eq!(mode(), theirs);
            keep(ReadableBy::Anyone);
            assert_eq!(mode(), theirs);
        }
    }

    #[test]
    fn a_link_leads_to_the_file_that_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
