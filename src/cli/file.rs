//! Output files: written to a temporary file and renamed when complete. A device or a pipe is written to directly.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::exit::{Exit, Failure};

/// Writes a file. A reader sees the old file or the complete new one, never a part.
pub(super) fn write(path: &Path, contents: &str) -> Result<(), Failure> {
    let written = match OutputPlace::of(path).map_err(|error| unusable(path, error))? {
        OutputPlace::Stream(mut stream) => stream.write_all(contents.as_bytes()),
        OutputPlace::File(place) => {
            let whole = begun(&place).and_then(|mut file| file.write_all(contents.as_bytes()).map(|()| file));
            whole.and_then(|file| keep(file, &place))
        }
    };
    written.map_err(|error| unusable(path, error))
}

/// Writes a file line by line. It is there when all of it is, or when no more can be written: then it ends with the last
/// line that is whole.
pub(super) fn write_lines<T>(
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<T>,
) -> Result<T, Failure> {
    let of_path = |error| unusable(path, error);
    let place = match OutputPlace::of(path).map_err(of_path)? {
        OutputPlace::Stream(mut stream) => return write(&mut stream).map_err(of_path),
        OutputPlace::File(place) => place,
    };
    let mut file = begun(&place).map_err(of_path)?;
    let written = write(&mut file);
    if written.is_err() {
        cut_to_lines(file.as_file_mut()).map_err(of_path)?;
    }
    keep(file, &place).map_err(of_path)?;
    written.map_err(|error| {
        let kept = format_args!("{}: {error}: what came before is there", path.display());
        Failure::new(Exit::Unusable, kept)
    })
}

fn unusable(path: &Path, error: io::Error) -> Failure {
    Failure::new(Exit::Unusable, format_args!("{}: {error}", path.display()))
}

/// What stands, or is to stand, under a name.
enum OutputPlace {
    /// A file, or nothing yet; links are followed.
    File(PathBuf),
    /// A device or a pipe, which nothing may take the place of.
    Stream(File),
}

impl OutputPlace {
    fn of(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(there) if there.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(there) if there.is_file() => fs::canonicalize(path).map(Self::File),
            Ok(_) => OpenOptions::new().write(true).open(path).map(Self::Stream),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::File(path.to_owned())),
            Err(error) => Err(error),
        }
    }
}

fn begun(place: &Path) -> io::Result<NamedTempFile> {
    let directory = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !directory.is_dir() {
        return Err(io::Error::other(format!("there is no directory {}", directory.display())));
    }
    let begun = tempfile::Builder::new().prefix(".lockshift-").permissions(readable()).tempfile_in(directory);
    // The error's own text names the temporary file, which the user does not know.
    begun.map_err(|error| error.kind().into())
}

fn keep(file: NamedTempFile, place: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    file.persist(place).map(drop).map_err(|unfinished| unfinished.error)
}

/// Takes away what stands behind the last end of a line.
fn cut_to_lines(file: &mut File) -> io::Result<()> {
    const PIECE: u64 = 4096;
    let mut end = file.seek(SeekFrom::End(0))?;
    while end > 0 {
        let begin = end.saturating_sub(PIECE);
        let mut piece = Vec::new();
        file.seek(SeekFrom::Start(begin))?;
        (&*file).take(end - begin).read_to_end(&mut piece)?;
        if let Some(last) = piece.iter().rposition(|byte| *byte == b'\n') {
            return file.set_len(begin + last as u64 + 1);
        }
        end = begin;
    }
    file.set_len(0)
}

/// As any other new file, after the mask of the process.
fn readable() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(text: &str) -> String {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        cut_to_lines(&mut file).unwrap();
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
    fn a_pipe_is_written_to_and_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for writes in [(|pipe| write(pipe, "text").unwrap()) as fn(&Path), |pipe| {
            write_lines(pipe, &mut |to| to.write_all(b"text")).unwrap()
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
