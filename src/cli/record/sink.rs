//! Where a recording goes: standard output, one file, or one file after the other.

use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::cli::exit::{Exit, Failure, unless_closed};
use crate::cli::file::{self, NewFile};
use crate::cli::os_error;

/// Where a recording goes.
pub(super) enum Sink {
    /// Standard output.
    Page(BufWriter<Stdout>),
    /// Files.
    Files(Box<Files>),
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
    pub(super) fn page() -> Self {
        Self::Page(BufWriter::new(io::stdout()))
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
            Self::Page(page) => writeln!(page, "{text}"),
            Self::Files(files) => files.line(text),
        }
    }

    /// Writes what is in memory, as far as a reader could read it.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Page(page) => page.flush(),
            Self::Files(files) => match &mut files.part {
                Some(OutputFile { to: Compressed::Not(file), .. }) => file.flush(),
                // Compression gets worse with every flush, and a file without a name has no reader.
                Some(OutputFile { to: Compressed::Gzip(_), .. }) | None => Ok(()),
            },
        }
    }

    /// Ends the recording, after an error with what came before it.
    pub(super) fn end<T>(mut self, copied: io::Result<Option<T>>) -> Result<Option<T>, Failure> {
        let copied = copied.and_then(|ended| self.flush().map(|()| ended));
        match (self, copied) {
            (Self::Page(_), Ok(ended)) => Ok(ended),
            (Self::Page(_), Err(error)) => unless_closed(Err(error)).map(|()| None),
            (Self::Files(files), Ok(ended)) => {
                let Some(part) = files.part else { return Ok(ended) };
                let path = part.path.clone();
                part.keep().map_err(|error| file::unusable(&path, &error))?;
                Ok(ended)
            }
            (Self::Files(files), Err(error)) => {
                let path = files.part.as_ref().map_or_else(|| files.path.clone(), |part| part.path.clone());
                if let Some(part) = files.part {
                    part.keep_lines().map_err(|error| file::unusable(&path, &error))?;
                }
                let sentence = format!("{}: {}: what came before is there", path.display(), os_error::sentence(&error));
                Err(Failure::new(Exit::Unusable, sentence))
            }
        }
    }
}

impl Files {
    fn line(&mut self, text: &str) -> io::Result<()> {
        let length = text.len() as u64 + 1;
        if let Some(part) = self
            .part
            .take_if(|part| self.rotate.is_some_and(|most| part.bytes > 0 && part.bytes.saturating_add(length) > most))
        {
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

    /// The name of the next file: `trace.log.0001`, `trace.log.0001.gz`.
    fn next_path(&self) -> PathBuf {
        if self.rotate.is_none() {
            return self.path.clone();
        }
        let (stem, extension) = match is_gzip(&self.path) {
            true => (self.path.with_extension(""), ".gz"),
            false => (self.path.clone(), ""),
        };
        let mut name = stem.into_os_string();
        name.push(format!(".{:04}{extension}", self.complete + 1));
        name.into()
    }
}

impl OutputFile {
    fn begin(path: PathBuf) -> io::Result<Self> {
        let file = NewFile::begin(&path)?;
        let to = match is_gzip(&path) {
            true => Compressed::Gzip(GzEncoder::new(BufWriter::new(TakenFile(Some(file))), Compression::default())),
            false => Compressed::Not(BufWriter::new(file)),
        };
        Ok(Self { path, to, bytes: 0 })
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

    /// Keeps what could be written: lines that are whole, of a compressed file the beginning.
    fn keep_lines(self) -> io::Result<()> {
        match self.to {
            Compressed::Not(file) => file.into_parts().0.keep_lines(),
            Compressed::Gzip(mut file) => {
                // The end of the compressed data may be missing, and `audit` then says so.
                let _ = file.try_finish();
                file.get_mut().get_mut().0.take().map_or(Ok(()), NewFile::keep)
            }
        }
    }
}

fn is_gzip(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}
