//! Compressed input: gzip and zstd, recognised by their first bytes.

use std::io::{self, Cursor, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The decompressed bytes of an input; an input that is not compressed stays as it is.
///
/// # Errors
/// The input cannot be read, or the first zstd frame has no valid header.
pub(super) fn decompressed(mut input: Box<dyn Read>) -> io::Result<Box<dyn Read>> {
    let mut head = Vec::with_capacity(ZSTD.len());
    input.by_ref().take(ZSTD.len() as u64).read_to_end(&mut head)?;
    let (is_gzip, is_zstd) = (head.starts_with(&GZIP), head.starts_with(&ZSTD));
    let whole: Box<dyn Read> = Box::new(Cursor::new(head).chain(input));
    Ok(match (is_gzip, is_zstd) {
        (true, _) => Box::new(MultiGzDecoder::new(whole)),
        (_, true) => Box::new(ZstdFrames { frame: Some(frame(whole)?) }),
        (false, false) => whole,
    })
}

type Frame = StreamingDecoder<Box<dyn Read>, ruzstd::decoding::FrameDecoder>;

/// The frames of a zstd file, one after the other.
struct ZstdFrames {
    /// `None` after the last one.
    frame: Option<Frame>,
}

impl Read for ZstdFrames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(current) = &mut self.frame {
            let read = current.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let mut rest = self.frame.take().map(Frame::into_inner).expect("a frame is being read");
            let mut next = Vec::with_capacity(1);
            rest.by_ref().take(1).read_to_end(&mut next)?;
            if !next.is_empty() {
                self.frame = Some(frame(Box::new(Cursor::new(next).chain(rest)))?);
            }
        }
        Ok(0)
    }
}

fn frame(input: Box<dyn Read>) -> io::Result<Frame> {
    StreamingDecoder::new(input).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}
