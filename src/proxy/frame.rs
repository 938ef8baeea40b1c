//! Where a RESP frame ends, of version 2 or 3, without keeping its contents.
//!
//! The parsers of crates give a frame when it is complete in memory. A proxy passes frames of any size on in pieces, so it
//! needs only their ends.

use memchr::memchr;
use thiserror::Error;

/// Bytes that are not RESP, or nested too deeply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a valid RESP frame")]
pub(super) struct Malformed;

/// Finds the end of each frame in a stream that arrives in pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct Scanner {
    /// How many elements are to come, for each array that is open.
    open: Vec<u64>,
    state: ScannerState,
    kind: u8,
    is_nil: bool,
    /// How many elements the frame has, if it is an array.
    count: u64,
    /// Which of them are errors.
    failed: Vec<u64>,
}

/// Where in an element the stream is.
#[derive(Clone, Copy, Debug, Default)]
enum ScannerState {
    /// Before its first byte.
    #[default]
    Start,
    /// In a line that ends it.
    Line,
    /// In the number behind its first byte.
    Count { kind: u8, value: u64, digits: u8, is_negative: bool },
    /// So many bytes before its end.
    Payload(u64),
}

/// How far a piece was scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scanned {
    /// So many bytes belong to this frame.
    pub(super) used: usize,
    /// The first byte of the frame, if it ends with them.
    pub(super) ended: Option<u8>,
}

/// Arrays in arrays deeper than this are refused: Redis sends a handful.
const DEEPEST: usize = 64;
/// Digits of a length.
const MOST_DIGITS: u8 = 19;

impl Scanner {
    /// Whether a frame has begun and not ended.
    pub(super) fn is_inside(&self) -> bool {
        !self.open.is_empty() || !matches!(self.state, ScannerState::Start)
    }

    /// The first byte of the frame that was scanned last, or is being scanned.
    pub(super) fn kind(&self) -> u8 {
        self.kind
    }

    /// Whether that is an error, or nil: the command had no effect.
    pub(super) fn is_refusal(&self) -> bool {
        self.is_nil || matches!(self.kind, b'-' | b'!' | b'_')
    }

    /// Which elements of the array that was scanned last are errors, in their order: the commands of a transaction that failed.
    pub(super) fn take_failed(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.failed)
    }

    /// Scans to the end of the frame, or of the piece.
    pub(super) fn scan(&mut self, piece: &[u8]) -> Result<Scanned, Malformed> {
        let mut used = 0;
        while let Some(rest) = piece.get(used..).filter(|rest| !rest.is_empty()) {
            let has_ended = match self.state {
                ScannerState::Start => {
                    used += 1;
                    self.begin(rest[0])?;
                    false
                }
                ScannerState::Line => match memchr(b'\n', rest) {
                    Some(end) => {
                        used += end + 1;
                        self.end_element()
                    }
                    None => {
                        used = piece.len();
                        false
                    }
                },
                ScannerState::Count { kind, value, digits, is_negative } => {
                    used += 1;
                    match rest[0] {
                        digit @ b'0'..=b'9' if digits < MOST_DIGITS => {
                            let value = value * 10 + u64::from(digit - b'0');
                            self.state = ScannerState::Count { kind, value, digits: digits + 1, is_negative };
                            false
                        }
                        b'-' if digits == 0 && !is_negative => {
                            self.state = ScannerState::Count { kind, value, digits, is_negative: true };
                            false
                        }
                        b'\r' => false,
                        b'\n' => self.counted(kind, if is_negative { None } else { Some(value) })?,
                        _ => return Err(Malformed),
                    }
                }
                ScannerState::Payload(left) => {
                    let taken = left.min(rest.len() as u64);
                    used += usize::try_from(taken).map_err(|_| Malformed)?;
                    if taken == left {
                        self.end_element()
                    } else {
                        self.state = ScannerState::Payload(left - taken);
                        false
                    }
                }
            };
            if has_ended {
                return Ok(Scanned { used, ended: Some(self.kind) });
            }
        }
        Ok(Scanned { used, ended: None })
    }

    fn begin(&mut self, kind: u8) -> Result<(), Malformed> {
        match self.open[..] {
            [] => {
                (self.kind, self.is_nil) = (kind, false);
                self.failed.clear();
            }
            [left] if matches!(kind, b'-' | b'!') => self.failed.push(self.count - left),
            _ => {}
        }
        self.state = match kind {
            b'+' | b'-' | b':' | b'_' | b'#' | b',' | b'(' => ScannerState::Line,
            b'$' | b'=' | b'!' | b'*' | b'~' | b'>' | b'%' | b'|' => {
                ScannerState::Count { kind, value: 0, digits: 0, is_negative: false }
            }
            _ => return Err(Malformed),
        };
        Ok(())
    }

    /// The number behind the first byte of an element is known; `None` stands for nil. Whether the frame has ended.
    fn counted(&mut self, kind: u8, count: Option<u64>) -> Result<bool, Malformed> {
        let elements = match (kind, count) {
            (_, None) => {
                self.is_nil = self.open.is_empty();
                0
            }
            (b'$' | b'=' | b'!', Some(length)) => {
                self.state = ScannerState::Payload(length.checked_add(2).ok_or(Malformed)?);
                return Ok(false);
            }
            (b'%', Some(pairs)) => pairs.checked_mul(2).ok_or(Malformed)?,
            // An attribute stands before the element that it belongs to.
            (b'|', Some(pairs)) => pairs.checked_mul(2).and_then(|pairs| pairs.checked_add(1)).ok_or(Malformed)?,
            (_, Some(elements)) => elements,
        };
        if elements == 0 {
            return Ok(self.end_element());
        }
        if self.open.len() == DEEPEST {
            return Err(Malformed);
        }
        if self.open.is_empty() {
            self.count = elements;
        }
        self.open.push(elements);
        self.state = ScannerState::Start;
        Ok(false)
    }

    /// An element has ended. Whether the frame has.
    fn end_element(&mut self) -> bool {
        self.state = ScannerState::Start;
        while let Some(left) = self.open.last_mut() {
            *left -= 1;
            if *left > 0 {
                return false;
            }
            self.open.pop();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FRAMES: [&[u8]; 13] = [
        b"+OK\r\n",
        b"-ERR no\r\n",
        b":-12\r\n",
        b"$-1\r\n",
        b"$0\r\n\r\n",
        b"$5\r\n\r\n*1\r\r\n",
        b"*-1\r\n",
        b"*0\r\n",
        b"*2\r\n*1\r\n$1\r\na\r\n:1\r\n",
        b"%1\r\n+a\r\n*2\r\n_\r\n#t\r\n",
        b">2\r\n+message\r\n$1\r\nx\r\n",
        b"|1\r\n+ttl\r\n:3\r\n$2\r\nab\r\n",
        b"=6\r\ntxt:ab\r\n",
    ];

    #[test]
    fn the_errors_among_the_elements_of_an_array_are_found() {
        let mut scanner = Scanner::default();
        for (frame, failed) in [
            ("*4\r\n-ERR a\r\n*2\r\n-ERR inner\r\n:1\r\n!3\r\nERR\r\n+OK\r\n", vec![0, 2]),
            ("-ERR\r\n", vec![]),
            ("*1\r\n-ERR\r\n", vec![0]),
            ("*0\r\n", vec![]),
        ] {
            for byte in frame.as_bytes() {
                scanner.scan(&[*byte]).unwrap();
            }
            assert!(!scanner.is_inside());
            assert_eq!(scanner.take_failed(), failed, "{frame}");
        }
    }

    proptest! {
        #[test]
        fn frames_end_where_they_end_however_the_stream_is_cut(
            order in prop::collection::vec(0..FRAMES.len(), 1..8),
            cuts in prop::collection::vec(1..7_usize, 1..20),
        ) {
            let stream: Vec<u8> = order.iter().flat_map(|index| FRAMES[*index]).copied().collect();
            let mut ends = Vec::new();
            let (mut scanner, mut at, mut cuts) = (Scanner::default(), 0, cuts.into_iter().cycle());
            while at < stream.len() {
                let piece = &stream[at..(at + cuts.next().unwrap()).min(stream.len())];
                let Scanned { used, ended } = scanner.scan(piece).unwrap();
                prop_assert!(used == piece.len() || ended.is_some());
                at += used;
                ends.extend(ended.map(|kind| (at, kind)));
            }
            let mut end = 0;
            let expected: Vec<_> = order.iter().map(|index| {
                end += FRAMES[*index].len();
                (end, FRAMES[*index][0])
            }).collect();
            prop_assert_eq!(ends, expected);
            prop_assert!(!scanner.is_inside());
        }

        #[test]
        fn any_bytes_are_scanned_or_refused_and_need_no_memory(
            bytes in prop::collection::vec(prop::sample::select(b"*$%|>0123459-+:\r\nab".to_vec()), 0..400),
        ) {
            let mut scanner = Scanner::default();
            let mut at = 0;
            while let Ok(Scanned { used, .. }) = scanner.scan(&bytes[at..]) {
                at += used;
                prop_assert!(scanner.open.len() <= DEEPEST);
                if at == bytes.len() {
                    break;
                }
            }
        }
    }
}
