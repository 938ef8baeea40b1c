//! Compressed input: gzip and zstd, recognised by their first bytes, and decompressed by a thread of its own.

use std::error::Error;
use std::io::{self, Cursor, ErrorKind, Read};
use std::iter::successors;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::{BlockDecodingStrategy, StreamingDecoder};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Maximum number of bytes that are decompressed at a time.
const CHUNK: usize = 1 << 18;
/// Maximum number of chunks that wait to be read.
const AHEAD: usize = 4;

/// The decompressed bytes of an input; an input that is not compressed stays as it is.
///
/// # Errors
/// The input cannot be read, the first zstd frame has no valid header, or the thread cannot be started.
pub(super) fn decompressed(mut input: Box<dyn Read + Send>) -> io::Result<Box<dyn Read>> {
    let mut head = Vec::with_capacity(ZSTD.len());
    input.by_ref().take(ZSTD.len() as u64).read_to_end(&mut head)?;
    let (is_gzip, is_zstd) = (head.starts_with(&GZIP), head.starts_with(&ZSTD));
    let whole: Box<dyn Read + Send> = Box::new(Cursor::new(head).chain(input));
    match (is_gzip, is_zstd) {
        (true, _) => read_ahead(MultiGzDecoder::new(whole)),
        (_, true) => read_ahead(ZstdFrames { frame: Some(frame(whole)?), damage: None }),
        (false, false) => Ok(whole),
    }
}

/// What a thread of its own reads from this source.
fn read_ahead(mut source: impl Read + Send + 'static) -> io::Result<Box<dyn Read>> {
    let (sender, chunks) = sync_channel(AHEAD);
    Builder::new().name("decompress".to_owned()).spawn(move || send_all(&mut source, &sender))?;
    Ok(Box::new(ReadAhead { chunks, chunk: Cursor::default(), has_ended: false }))
}

/// Sends what is read, as soon as it is read: the input may be a pipe that is still being written. Ends with the input, which
/// an empty chunk says, at an error, and when nothing reads the chunks any more.
fn send_all(source: &mut impl Read, chunks: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut chunk = vec![0; CHUNK];
        let read = match source.read(&mut chunk) {
            Ok(length) => {
                chunk.truncate(length);
                Ok(chunk)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = read.as_ref().map_or(true, Vec::is_empty);
        if chunks.send(read).is_err() || is_last {
            return;
        }
    }
}

/// The chunks that a thread has read.
struct ReadAhead {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Cursor<Vec<u8>>,
    has_ended: bool,
}

impl Read for ReadAhead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.chunk.read(buffer)?;
            if read > 0 || buffer.is_empty() || self.has_ended {
                return Ok(read);
            }
            let next = self.chunks.recv().map_err(|_| io::Error::other("decompressing failed"))??;
            self.has_ended = next.is_empty();
            self.chunk = Cursor::new(next);
        }
    }
}

type Frame = StreamingDecoder<Box<dyn Read + Send>, ruzstd::decoding::FrameDecoder>;

/// The frames of a zstd file, one after the other.
struct ZstdFrames {
    /// `None` after the last one.
    frame: Option<Frame>,
    /// Why the frame cannot be decoded further. It is the result once everything decoded before it has been read.
    damage: Option<io::Error>,
}

impl Read for ZstdFrames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(current) = &mut self.frame {
            let read = match current.read(buffer) {
                Ok(read) => read,
                Err(error) => {
                    end_early(current)?;
                    self.damage = Some(damage(&error, "a zstd frame is damaged"));
                    continue;
                }
            };
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let ended = self.frame.take().expect("a frame is being read");
            if let Some(error) = self.damage.take() {
                return Err(error);
            }
            let mut rest = checked(ended)?;
            let mut next = Vec::with_capacity(1);
            rest.by_ref().take(1).read_to_end(&mut next)?;
            if !next.is_empty() {
                self.frame = Some(frame(Box::new(Cursor::new(next).chain(rest)))?);
            }
        }
        Ok(0)
    }
}

fn frame(input: Box<dyn Read + Send>) -> io::Result<Frame> {
    StreamingDecoder::new(input).map_err(|error| damage(&io::Error::other(error), "no zstd frame that can be read"))
}

/// What follows a frame that has been read to its end.
///
/// # Errors
/// The checksum of the frame is not that of what was decoded.
fn checked(frame: Frame) -> io::Result<Box<dyn Read + Send>> {
    let (rest, decoder) = frame.into_parts();
    let written = decoder.get_checksum_from_data();
    if written.is_some() && written != decoder.get_calculated_checksum() {
        return Err(io::Error::new(
            ErrorKind::InvalidData,
            "the checksum of a zstd frame is wrong: the file is damaged",
        ));
    }
    Ok(rest)
}

/// Ends a frame that cannot be decoded further. The decoder keeps what later blocks may repeat, and hands it out only after the
/// last block: this one is empty, and a checksum follows it.
fn end_early(frame: &mut Frame) -> io::Result<()> {
    const EMPTY_LAST_BLOCK: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];
    let ended = frame.decoder.decode_blocks(&EMPTY_LAST_BLOCK[..], BlockDecodingStrategy::All);
    ended.map(drop).map_err(io::Error::other)
}

/// What is wrong with a frame: it is cut off, it cannot be read, or, for any other reason, this.
fn damage(error: &io::Error, otherwise: &str) -> io::Error {
    let first = error.get_ref().map(|error| error as &(dyn Error + 'static));
    let of_input = successors(first, |error| (**error).source()).find_map(|error| error.downcast_ref::<io::Error>());
    match of_input {
        Some(input) if input.kind() == ErrorKind::UnexpectedEof => {
            io::Error::new(ErrorKind::UnexpectedEof, "the file is cut off inside a zstd frame")
        }
        Some(input) => io::Error::new(input.kind(), input.to_string()),
        None => io::Error::new(ErrorKind::InvalidData, otherwise),
    }
}
