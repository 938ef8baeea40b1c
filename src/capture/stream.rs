//! One direction of a TCP connection, put together from its segments.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::wire::UnixTime;

/// How long a missing segment is waited for: a segment that was lost on its way is sent again within that time, mostly.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same for one whose receiver has acknowledged it, so that only the capture lacks it; unless the packets are out of order.
const PATIENCE_IF_RECEIVED: Duration = Duration::from_millis(100);
/// Bytes that are kept while an earlier segment is missing; beyond that, it is taken for lost.
const MOST_BEHIND: usize = 1 << 18;
/// Bytes of an unfinished message that are kept.
const MOST: usize = 1 << 26;

/// One direction of a TCP connection.
#[derive(Debug, Default)]
pub(super) struct ByteStream {
    /// The sequence number of the next byte; `None` before the first segment.
    next: Option<u32>,
    /// Segments behind a gap, by their distance from `next` when they came.
    behind: BTreeMap<u32, Vec<u8>>,
    behind_bytes: usize,
    /// Since when segments are behind a gap.
    behind_since: Option<UnixTime>,
    /// The bytes that are in order and not consumed.
    pub(super) bytes: Vec<u8>,
}

/// What a segment brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Brought {
    /// Perhaps bytes, in order.
    Bytes,
    /// Bytes behind a gap: what came before them is lost.
    Gap,
}

impl ByteStream {
    /// The stream begins behind this sequence number.
    pub(super) fn begin(&mut self, seq: u32) {
        *self = Self { next: Some(seq.wrapping_add(1)), ..Self::default() };
    }

    /// Adds a segment of which `sent` bytes were sent.
    pub(super) fn add(&mut self, seq: u32, payload: &[u8], sent: usize, at: UnixTime) -> Brought {
        if sent == 0 {
            return Brought::Bytes;
        }
        let next = *self.next.get_or_insert(seq);
        let ahead = seq.wrapping_sub(next);
        // A distance of more than half of all numbers is one backwards: a segment that was sent again.
        if ahead > u32::MAX / 2 {
            let known = next.wrapping_sub(seq) as usize;
            return if known < payload.len() { self.append(&payload[known..], sent - known) } else { Brought::Bytes };
        }
        if ahead == 0 {
            return self.append(payload, sent);
        }
        self.behind_bytes += payload.len();
        self.behind.insert(seq, payload.to_vec());
        self.behind_since.get_or_insert(at);
        if self.behind_bytes > MOST_BEHIND { self.skip_gap() } else { Brought::Bytes }
    }

    fn append(&mut self, payload: &[u8], sent: usize) -> Brought {
        self.bytes.extend_from_slice(payload);
        self.next = self.next.map(|next| next.wrapping_add(u32::try_from(sent).unwrap_or(0)));
        if payload.len() < sent || self.bytes.len() > MOST {
            self.bytes.clear();
            return Brought::Gap;
        }
        self.catch_up();
        Brought::Bytes
    }

    /// Appends the segments that follow now.
    fn catch_up(&mut self) {
        while let Some(next) = self.next {
            let follows = |seq: &u32| next.wrapping_sub(*seq) <= u32::MAX / 2;
            let Some(seq) = self.behind.keys().copied().find(follows) else { break };
            let payload = self.behind.remove(&seq).unwrap_or_default();
            self.behind_bytes -= payload.len();
            let known = (next.wrapping_sub(seq) as usize).min(payload.len());
            self.bytes.extend_from_slice(&payload[known..]);
            self.next = Some(next.wrapping_add(u32::try_from(payload.len() - known).unwrap_or(0)));
        }
        if self.behind.is_empty() {
            self.behind_since = None;
        }
    }

    /// Goes on behind a gap that will not be filled any more. What its receiver has `acknowledged` was sent and arrived.
    pub(super) fn give_up_gap(&mut self, acknowledged: Option<u32>, at: UnixTime) -> Brought {
        let (Some(next), Some(since)) = (self.next, self.behind_since) else { return Brought::Bytes };
        let is_received = acknowledged.is_some_and(|number| (1..=u32::MAX / 2).contains(&number.wrapping_sub(next)));
        let patience = if is_received { PATIENCE_IF_RECEIVED } else { PATIENCE };
        if at.saturating_since(since) > patience { self.skip_gap() } else { Brought::Bytes }
    }

    /// Goes on behind the gap.
    pub(super) fn skip_gap(&mut self) -> Brought {
        let Some(next) = self.next else { return Brought::Bytes };
        let Some(first) = self.behind.keys().copied().min_by_key(|seq| seq.wrapping_sub(next)) else {
            return Brought::Bytes;
        };
        self.bytes.clear();
        self.next = Some(first);
        self.catch_up();
        Brought::Gap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(millis: i64) -> UnixTime {
        UnixTime::from_nanos(1_700_000_000_000_000_000 + millis * 1_000_000)
    }

    #[test]
    fn a_gap_is_waited_for_as_long_as_it_may_be_filled() {
        let arrived = |acknowledged, millis| {
            let mut stream = ByteStream::default();
            stream.begin(9);
            stream.add(20, b"+OK\r\n", 5, at_ms(0));
            (stream.give_up_gap(acknowledged, at_ms(millis)), stream.bytes)
        };
        let kept = (Brought::Bytes, Vec::new());
        let given_up = (Brought::Gap, b"+OK\r\n".to_vec());
        assert_eq!(arrived(None, 1000), kept);
        assert_eq!(arrived(None, 1001), given_up);
        assert_eq!(arrived(Some(10), 1000), kept, "it has not arrived");
        assert_eq!(arrived(Some(20), 100), kept, "the packets may be out of order");
        assert_eq!(arrived(Some(20), 101), given_up);

        let mut filled = ByteStream::default();
        filled.begin(9);
        filled.add(15, b"PONG\r\n", 6, at_ms(0));
        filled.add(10, b"+OK\r\n", 5, at_ms(900));
        filled.add(30, b"+OK\r\n", 5, at_ms(1500));
        assert_eq!(filled.give_up_gap(None, at_ms(2000)), Brought::Bytes, "this gap began later");
    }

    #[test]
    fn segments_in_any_order_and_sent_again_make_one_text() {
        let text = b"*1\r\n$4\r\nPING\r\n";
        for first in [0_u32, u32::MAX - 6] {
            for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1]] {
                let mut stream = ByteStream::default();
                stream.begin(first.wrapping_sub(1));
                for part in order.into_iter().chain([1, 0]) {
                    let (begin, end) = [(0, 5), (5, 9), (9, text.len())][part];
                    let seq = first.wrapping_add(u32::try_from(begin).unwrap());
                    assert_eq!(stream.add(seq, &text[begin..end], end - begin, at_ms(0)), Brought::Bytes);
                }
                assert_eq!(stream.bytes, text, "{order:?} from {first}");
            }
        }
    }

    #[test]
    fn bytes_that_were_not_captured_are_a_gap() {
        let mut stream = ByteStream::default();
        stream.begin(9);
        assert_eq!(stream.add(10, b"*1\r\n", 40, at_ms(0)), Brought::Gap);
        assert_eq!(stream.add(50, b"+OK\r\n", 5, at_ms(0)), Brought::Bytes);
        assert_eq!(stream.bytes, b"+OK\r\n");
        stream.add(70, b"+PONG\r\n", 7, at_ms(0));
        assert_eq!(stream.skip_gap(), Brought::Gap);
        assert_eq!(stream.bytes, b"+PONG\r\n");
    }
}
