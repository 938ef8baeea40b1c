//! Where a recording goes: standard output, one file, or one file after the other.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::cli::exit::{Exit, Failure};
use crate::cli::file::{self, NewFile, ReadableBy};
use crate::cli::os_error;

/// Where a recording goes.
pub(super) enum Sink {
    /// Standard output.
    Page(Page),
    /// Files.
    Files(Box<Files>),
}

/// Standard output. It is written to without the buffer of the library, which would be written behind the last line.
pub(super) struct Page {
    to: BufWriter<File>,
    /// How much stood in it before, if it is a file.
    from: Option<u64>,
}

/// The files of a recording.
pub(super) struct Files {
    /// The name that was typed.
    path: PathBuf,
    /// After how many bytes the next one begins.
    rotate: Option<u64>,
    /// How many are complete.
    complete: u32,
    part: Option<OutputFile>,
}

/// The file that is being written.
struct OutputFile {
    path: PathBuf,
    to: Compressed,
    /// Before compression.
    bytes: u64,
    /// Whether the end of what is compressed was written, or begun.
    is_finished: bool,
}

enum Compressed {
    Not(BufWriter<NewFile>),
    Gzip(GzEncoder<BufWriter<TakenFile>>),
}

/// A file below an encoder, which gives it up only once it has written its end. Where the disk is full it cannot, so the file is
/// taken from below it, and what is written after that goes nowhere.
struct TakenFile(Option<NewFile>);

impl Write for TakenFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.as_mut().map_or(Ok(bytes.len()), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Sink {
    /// Standard output.
    pub(super) fn page() -> Result<Self, Failure> {
        let begun = || {
            let to = File::from(io::stdout().as_fd().try_clone_to_owned()?);
            let there = to.metadata()?;
            Ok(Page { from: there.is_file().then_some(there.len()), to: BufWriter::new(to) })
        };
        begun().map(Self::Page).map_err(|error| of_page(&error))
    }

    /// A file of this name, or one after the other, each of about so many bytes.
    pub(super) fn file(path: &Path, rotate: Option<u64>) -> Result<Self, Failure> {
        let mut files = Files { path: path.to_owned(), rotate, complete: 0, part: None };
        let first = files.next_path();
        if rotate.is_some() && first.exists() {
            // What is left of a longer recording would be taken for a part of this one.
            let text =
                format!("{} is there already: remove the files of that recording, or name another", first.display());
            return Err(Failure::new(Exit::Usage, text));
        }
        files.part = Some(OutputFile::begin(first.clone()).map_err(|error| file::unusable(&first, &error))?);
        Ok(Self::Files(Box::new(files)))
    }

    /// Writes a line.
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        match self {
            Self::Page(page) => writeln!(page.to, "{text}"),
            Self::Files(files) => files.line(text),
        }
    }

    /// Writes what is in memory, as far as a reader could read it.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Page(page) => page.to.flush(),
            Self::Files(files) => match &mut files.part {
                Some(OutputFile { to: Compressed::Not(file), .. }) => file.flush(),
                // Compression gets worse with every flush, and a file without a name has no reader.
                Some(OutputFile { to: Compressed::Gzip(_), .. }) | None => Ok(()),
            },
        }
    }

    /// Ends the recording, after an error with what came before it, and with a line that says so: this text and the reason.
    pub(super) fn end<T>(
        mut self,
        copied: io::Result<Option<T>>,
        ended_early: Option<&str>,
    ) -> Result<Option<T>, Failure> {
        let copied = copied.and_then(|ended| self.flush().map(|()| ended));
        match (self, copied) {
            (Self::Page(_), Ok(ended)) => Ok(ended),
            (Self::Page(_), Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(None),
            (Self::Page(page), Err(error)) => {
                let last = ended_early.map(|text| format!("{text}{}", os_error::sentence(&error)));
                // Where it cannot be marked, the exit status says so.
                let _ = page.keep_lines(last.as_deref());
                Err(of_page(&error))
            }
            (Self::Files(files), Ok(ended)) => {
                let Some(mut part) = files.part else { return Ok(ended) };
                match part.finish() {
                    Ok(()) => {
                        let path = part.path.clone();
                        part.keep().map_err(|error| file::unusable(&path, &error))?;
                        Ok(ended)
                    }
                    Err(error) => {
                        Self::Files(Box::new(Files { part: Some(part), ..*files })).end(Err(error), ended_early)
                    }
                }
            }
            (Self::Files(files), Err(error)) => {
                let last = ended_early.map(|text| format!("{text}{}", os_error::sentence(&error)));
                let path = files.part.as_ref().map_or_else(|| files.last_path(), |part| part.path.clone());
                let marked = match files.part {
                    Some(part) => part.keep_lines(last.as_deref()),
                    None => mark(&path, last.as_deref()),
                };
                marked.map_err(|error| file::unusable(&path, &error))?;
                let sentence = format!("{}: {}: what came before is there", path.display(), os_error::sentence(&error));
                Err(Failure::new(Exit::Unusable, sentence))
            }
        }
    }
}

fn of_page(error: &io::Error) -> Failure {
    Failure::new(
        Exit::Unusable,
        format_args!("standard output: {}: what came before is there", os_error::sentence(error)),
    )
}

impl Page {
    /// If it is a file, keeps the lines in it that are whole, and writes this one behind them.
    fn keep_lines(self, last: Option<&str>) -> io::Result<()> {
        let Some(from) = self.from else { return Ok(()) };
        // What could not be written is dropped. A shell opens the file for writing only.
        let (file, _) = self.to.into_parts();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        file::end_with(&mut OpenOptions::new().read(true).write(true).open(path)?, from, last)
    }
}

impl Files {
    fn line(&mut self, text: &str) -> io::Result<()> {
        let length = text.len() as u64 + 1;
        let is_full = |part: &OutputFile| {
            self.rotate.is_some_and(|most| part.bytes > 0 && part.bytes.saturating_add(length) > most)
        };
        if let Some(part) = self.part.as_mut().filter(|part| is_full(part)) {
            // A part that cannot be finished stays, to be kept as far as it goes.
            part.finish()?;
        }
        if let Some(part) = self.part.take_if(|part| is_full(part)) {
            part.keep()?;
            self.complete += 1;
        }
        let part = match &mut self.part {
            Some(part) => part,
            None => {
                let part = OutputFile::begin(self.next_path())?;
                self.part.insert(part)
            }
        };
        part.bytes += length;
        match &mut part.to {
            Compressed::Not(file) => writeln!(file, "{text}"),
            Compressed::Gzip(file) => writeln!(file, "{text}"),
        }
    }

    /// The name of the next file: `trace.log.000001`, `trace.log.000001.gz`.
    fn next_path(&self) -> PathBuf {
        self.path_of(self.complete + 1)
    }

    /// The name of the last file that is complete.
    fn last_path(&self) -> PathBuf {
        self.path_of(self.complete)
    }

    fn path_of(&self, number: u32) -> PathBuf {
        if self.rotate.is_none() {
            return self.path.clone();
        }
        let (stem, extension) = match is_gzip(&self.path) {
            true => (self.path.with_extension(""), ".gz"),
            false => (self.path.clone(), ""),
        };
        let mut name = stem.into_os_string();
        name.push(format!(".{number:06}{extension}"));
        name.into()
    }
}

impl OutputFile {
    fn begin(path: PathBuf) -> io::Result<Self> {
        let file = NewFile::begin(&path, ReadableBy::Owner)?;
        let to = match is_gzip(&path) {
            true => Compressed::Gzip(GzEncoder::new(BufWriter::new(TakenFile(Some(file))), Compression::default())),
            false => Compressed::Not(BufWriter::new(file)),
        };
        Ok(Self { path, to, bytes: 0, is_finished: false })
    }

    /// Writes all that is in memory, and the end of what is compressed.
    fn finish(&mut self) -> io::Result<()> {
        self.is_finished = true;
        match &mut self.to {
            Compressed::Not(file) => {
                file.flush()?;
                file.get_mut().sync()
            }
            Compressed::Gzip(file) => {
                file.try_finish()?;
                file.get_mut().flush()?;
                file.get_mut().get_mut().0.as_mut().map_or(Ok(()), NewFile::sync)
            }
        }
    }

    fn keep(self) -> io::Result<()> {
        match self.to {
            Compressed::Not(file) => file.into_inner().map_err(io::IntoInnerError::into_error)?.keep(),
            Compressed::Gzip(file) => {
                let below = file.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
                below.0.map_or(Ok(()), NewFile::keep)
            }
        }
    }

    /// Keeps what could be written: lines that are whole and this one behind them; of a compressed file the beginning.
    fn keep_lines(self, last: Option<&str>) -> io::Result<()> {
        match self.to {
            Compressed::Not(file) => file.into_parts().0.keep_lines(last),
            Compressed::Gzip(mut file) => {
                // The end of the compressed data may be missing, and `audit` then says so. If there is room again, the last line
                // says it; a part of a line may stand before it.
                let text = last.map(|last| format!("\n{last}\n")).unwrap_or_default();
                let _ = match self.is_finished {
                    true => write_member(file.get_mut(), &text),
                    false => file.write_all(text.as_bytes()).and_then(|()| file.try_finish()),
                };
                let _ = file.get_mut().flush();
                file.get_mut().get_mut().0.take().map_or(Ok(()), NewFile::keep)
            }
        }
    }
}

/// Writes this line at the end of a file that is complete.
fn mark(path: &Path, last: Option<&str>) -> io::Result<()> {
    let Some(last) = last else { return Ok(()) };
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    if !is_gzip(path) {
        return file::end_with(&mut file, 0, Some(last));
    }
    file.seek(SeekFrom::End(0))?;
    write_member(&mut file, &format!("{last}\n"))
}

/// Writes a text as a compressed file of its own: several in a row are one.
fn write_member(to: &mut impl Write, text: &str) -> io::Result<()> {
    let mut member = GzEncoder::new(to, Compression::default());
    member.write_all(text.as_bytes())?;
    member.finish()?.flush()
}

fn is_gzip(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}
