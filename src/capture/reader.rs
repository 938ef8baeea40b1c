//! Reads a capture: connections from packets, exchanges in the order of their requests.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read;
use std::net::SocketAddr;
use std::time::Duration;

use super::exchange::{CaptureStatistics, CapturedExchange};
use super::packets::{CaptureError, Segment, each_packet};
use super::replies::{Decoded, request};
use super::session::CapturedConnection;
use super::stream::Brought;
use crate::wire::UnixTime;

/// An exchange is handed out when it is older than this and everything before it is known.
const WINDOW: Duration = Duration::from_secs(1);
/// A connection that is silent for this long is forgotten.
const SILENT: Duration = Duration::from_secs(3600);
/// Number of packets between two searches for silent connections.
const SWEEP_EVERY: u64 = 1 << 16;

/// Whether a file that begins with these four bytes is a capture.
pub fn is_capture(head: &[u8]) -> bool {
    const PCAP: [[u8; 4]; 4] =
        [[0xa1, 0xb2, 0xc3, 0xd4], [0xd4, 0xc3, 0xb2, 0xa1], [0xa1, 0xb2, 0x3c, 0x4d], [0x4d, 0x3c, 0xb2, 0xa1]];
    const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
    head.get(..4).is_some_and(|head| PCAP.iter().chain([&PCAPNG]).any(|magic| magic == head))
}

/// Reads a capture and hands each exchange to `each`.
///
/// # Errors
/// [`CaptureError`]: the input cannot be read to its end. What came before it was handed out.
pub fn read(
    input: Box<dyn Read>,
    each: &mut dyn FnMut(CapturedExchange),
) -> (CaptureStatistics, Result<(), CaptureError>) {
    let mut reader = CaptureReader::default();
    let outcome = each_packet(input, &mut |segment| reader.packet(segment, each));
    (reader.finish(each), outcome)
}

/// The client's end of a connection, and the server's.
type Ends = (SocketAddr, SocketAddr);

/// The connections of a capture.
#[derive(Default)]
struct CaptureReader {
    sessions: HashMap<Ends, CapturedConnection>,
    servers: BTreeSet<SocketAddr>,
    /// Exchanges that wait for those before them, by the time of their request.
    pending: BTreeMap<(UnixTime, u64), CapturedExchange>,
    numbered: u64,
    statistics: CaptureStatistics,
}

impl CaptureReader {
    fn packet(&mut self, segment: Option<Segment<'_>>, each: &mut dyn FnMut(CapturedExchange)) {
        self.statistics.packets += 1;
        let Some(segment) = segment else {
            self.statistics.foreign_packets += 1;
            return;
        };
        let Some(ends) = self.ends(&segment) else { return };
        let is_request = segment.from == ends.0;
        let new = || CapturedConnection::new(ends.1, ends.0, segment.at);
        let session = self.sessions.entry(ends).or_insert_with(new);
        session.last_at = segment.at;
        let mut found = Vec::new();
        let stream = if is_request { &mut session.requests } else { &mut session.replies };
        if segment.is_syn {
            stream.begin(segment.seq);
        } else {
            let brought = stream.add(segment.seq, segment.payload, segment.sent, segment.at);
            session.read(is_request, brought, segment.at, &mut found);
        }
        for of_requests in [true, false] {
            let acknowledged = segment.acknowledged.filter(|_| of_requests != is_request);
            session.give_up_gap(of_requests, acknowledged, segment.at, &mut found);
        }
        if segment.ends {
            self.close(ends, &mut found);
        }
        self.keep(found);
        self.hand_out(segment.at, each);
        if self.statistics.packets.is_multiple_of(SWEEP_EVERY) {
            self.sweep(segment.at);
        }
    }

    /// Which end of a segment is the client, and which the server: by the handshake, by what is known of other connections, or
    /// because it is a request.
    fn ends(&mut self, segment: &Segment<'_>) -> Option<Ends> {
        let (from, to) = (segment.from, segment.to);
        if segment.is_syn {
            let ends = if segment.acknowledged.is_some() { (to, from) } else { (from, to) };
            if segment.acknowledged.is_none() {
                self.sessions.insert(ends, CapturedConnection::new(to, from, segment.at));
            }
            return Some(ends);
        }
        if self.sessions.contains_key(&(from, to)) || self.servers.contains(&to) {
            return Some((from, to));
        }
        if self.sessions.contains_key(&(to, from)) || self.servers.contains(&from) {
            return Some((to, from));
        }
        let is_name = |name: &str| name.len() >= 3 && name.bytes().all(|byte| byte.is_ascii_alphabetic());
        match request(segment.payload) {
            Decoded::Whole(command, _)
                if command.words().first().is_some_and(|name| std::str::from_utf8(name).is_ok_and(is_name)) =>
            {
                Some((from, to))
            }
            _ => None,
        }
    }

    fn close(&mut self, ends: Ends, found: &mut Vec<CapturedExchange>) {
        if let Some(mut session) = self.sessions.remove(&ends) {
            // What still waits for a missing segment will not get it.
            let at = session.last_at;
            while session.requests.skip_gap() == Brought::Gap {
                session.read(true, Brought::Gap, at, found);
            }
            while session.replies.skip_gap() == Brought::Gap {
                session.read(false, Brought::Gap, at, found);
            }
            self.statistics.gaps += session.gaps;
            session.forget_waiting(&mut |exchange| found.push(exchange));
        }
    }

    fn keep(&mut self, found: Vec<CapturedExchange>) {
        for exchange in found {
            self.numbered += 1;
            self.servers.insert(exchange.server);
            self.pending.insert((exchange.at, self.numbered), exchange);
        }
    }

    /// Hands out what nothing can come before.
    fn hand_out(&mut self, now: UnixTime, each: &mut dyn FnMut(CapturedExchange)) {
        let until = UnixTime::from_nanos(now.as_nanos().saturating_sub(WINDOW.as_nanos() as i64));
        while let Some(entry) = self.pending.first_entry() {
            if entry.key().0 >= until {
                return;
            }
            let exchange = entry.remove();
            count(&mut self.statistics, &exchange);
            each(exchange);
        }
    }

    fn sweep(&mut self, now: UnixTime) {
        let silent = self.sessions.iter().filter(|(_, session)| now.saturating_since(session.last_at) > SILENT);
        let silent: Vec<Ends> = silent.map(|(ends, _)| *ends).collect();
        let mut found = Vec::new();
        silent.into_iter().for_each(|ends| self.close(ends, &mut found));
        self.keep(found);
    }

    fn finish(mut self, each: &mut dyn FnMut(CapturedExchange)) -> CaptureStatistics {
        let mut found = Vec::new();
        let ends: Vec<Ends> = self.sessions.keys().copied().collect();
        ends.into_iter().for_each(|ends| self.close(ends, &mut found));
        self.keep(found);
        for exchange in std::mem::take(&mut self.pending).into_values() {
            count(&mut self.statistics, &exchange);
            each(exchange);
        }
        self.statistics.servers = self.servers.len() as u64;
        self.statistics
    }
}

fn count(statistics: &mut CaptureStatistics, exchange: &CapturedExchange) {
    statistics.commands += 1;
    statistics.unanswered += u64::from(exchange.reply.is_none());
}

impl CapturedConnection {
    /// Goes on behind a gap that will not be filled any more.
    fn give_up_gap(
        &mut self,
        of_requests: bool,
        acknowledged: Option<u32>,
        at: UnixTime,
        found: &mut Vec<CapturedExchange>,
    ) {
        let stream = if of_requests { &mut self.requests } else { &mut self.replies };
        if stream.give_up_gap(acknowledged, at) == Brought::Gap {
            self.read(of_requests, Brought::Gap, at, found);
        }
    }

    fn read(&mut self, is_request: bool, brought: Brought, at: UnixTime, found: &mut Vec<CapturedExchange>) {
        let each = &mut |exchange| found.push(exchange);
        if is_request {
            self.read_requests(brought, at, each);
        } else {
            self.read_replies(brought, at, each);
        }
    }
}
