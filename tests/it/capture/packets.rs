//! Recorded traffic as a capture: the packets that `tcpdump` would have written.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use etherparse::{IpHeaders, Ipv6Extensions, Ipv6Header, Ipv6RawExtHeader, PacketBuilder, ip_number};

use super::recorder::{Passed, What};

/// The format of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Pcap,
    PcapNanos,
    Pcapng,
}

/// What happens to the segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    AsSent,
    /// Each is cut into pieces of so many bytes.
    Cut(usize),
    /// They are cut, and each two of them change places.
    Shuffled,
    /// Each is sent twice.
    Repeated,
    /// They are sent over IPv6.
    Ipv6,
    /// The same with an extension header.
    Ipv6Options,
    /// The capture is of all interfaces: a cooked header instead of Ethernet.
    Cooked,
    /// Packets are captured up to this length.
    Snapped(usize),
    /// The tenth packet with a payload is missing.
    Dropped,
}

/// A TCP segment.
#[derive(Clone)]
struct Segment {
    at: Duration,
    from: SocketAddr,
    to: SocketAddr,
    seq: u32,
    acknowledged: u32,
    flags: Flags,
    payload: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flags {
    Syn,
    SynAck,
    Ack,
    Fin,
}

/// The file.
pub(crate) fn capture_of(passed: &[Passed], format: Format, wire: Wire) -> Vec<u8> {
    let mut segments = segments(passed, wire);
    match wire {
        Wire::Repeated => segments = segments.iter().flat_map(|it| [it.clone(), it.clone()]).collect(),
        Wire::Dropped => {
            let tenth = segments.iter().enumerate().filter(|(_, it)| !it.payload.is_empty()).map(|(at, _)| at).nth(9);
            drop(segments.remove(tenth.expect("there are more")));
        }
        _ => {}
    }
    let snap = if let Wire::Snapped(length) = wire { length } else { usize::MAX };
    let link = if wire == Wire::Cooked { 113 } else { 1 };
    let mut file = header(format, link);
    for segment in &segments {
        let packet = packet(segment, wire);
        record(&mut file, format, segment.at, &packet[..packet.len().min(snap)], packet.len());
    }
    file
}

/// A connection, and its direction.
type Direction = (SocketAddr, SocketAddr);

fn segments(passed: &[Passed], wire: Wire) -> Vec<Segment> {
    // Sequence numbers begin close to where they wrap around.
    let mut next: HashMap<Direction, u32> = HashMap::new();
    let mut segments = Vec::new();
    let mut passed = passed.to_vec();
    passed.sort_by_key(|it| it.at);
    for Passed { at, client, server, what } in passed {
        let (to_server, to_client) = ((client, server), (server, client));
        let mut send = |(from, to): Direction, flags: Flags, payload: &[u8]| {
            let acknowledged = *next.entry((to, from)).or_insert(u32::MAX - 100);
            let seq = next.entry((from, to)).or_insert(u32::MAX - 100);
            let mut pieces: Vec<Segment> = Vec::new();
            let size = match wire {
                Wire::Cut(size) => size,
                Wire::Shuffled => 5,
                _ => usize::MAX,
            };
            let chunks: Vec<&[u8]> = if payload.is_empty() { vec![payload] } else { payload.chunks(size).collect() };
            for chunk in chunks {
                pieces.push(Segment { at, from, to, seq: *seq, acknowledged, flags, payload: chunk.to_vec() });
                let length = u32::try_from(chunk.len()).unwrap() + u32::from(flags != Flags::Ack);
                *seq = seq.wrapping_add(length);
            }
            if wire == Wire::Shuffled {
                pieces.chunks_mut(2).for_each(<[Segment]>::reverse);
            }
            segments.extend(pieces);
        };
        match what {
            What::Opened => {
                send(to_server, Flags::Syn, &[]);
                send(to_client, Flags::SynAck, &[]);
            }
            What::Asked(bytes) => send(to_server, Flags::Ack, &bytes),
            What::Answered(bytes) => send(to_client, Flags::Ack, &bytes),
            What::Closed => send(to_server, Flags::Fin, &[]),
        }
    }
    segments
}

fn packet(segment: &Segment, wire: Wire) -> Vec<u8> {
    let Segment { from, to, seq, acknowledged, flags, payload, .. } = segment;
    let (IpAddr::V4(source), IpAddr::V4(target)) = (from.ip(), to.ip()) else { panic!("the recorder is on 127.0.0.1") };
    let ethernet = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
    let ip = match wire {
        Wire::Ipv6 => ethernet.ipv6(source.to_ipv6_mapped().octets(), target.to_ipv6_mapped().octets(), 64),
        Wire::Ipv6Options => {
            let header = Ipv6Header {
                source: source.to_ipv6_mapped().octets(),
                destination: target.to_ipv6_mapped().octets(),
                ..Ipv6Header::default()
            };
            // Padding of six bytes.
            let options =
                Ipv6RawExtHeader::new_raw(ip_number::TCP, &[1, 4, 0, 0, 0, 0]).expect("it is a multiple of 8");
            let extensions = Ipv6Extensions { hop_by_hop_options: Some(options), ..Ipv6Extensions::default() };
            ethernet.ip(IpHeaders::Ipv6(header, extensions))
        }
        _ => ethernet.ipv4(source.octets(), target.octets(), 64),
    };
    let tcp = ip.tcp(from.port(), to.port(), *seq, 65_000);
    let tcp = match flags {
        Flags::Syn => tcp.syn(),
        Flags::SynAck => tcp.syn().ack(*acknowledged),
        Flags::Ack => tcp.ack(*acknowledged).psh(),
        Flags::Fin => tcp.fin().ack(*acknowledged),
    };
    let mut bytes = Vec::new();
    tcp.write(&mut bytes, payload).expect("a vector takes everything");
    if wire == Wire::Cooked {
        // Packet type, address type, address length, address, and the type of Ethernet, which stands in front of IP.
        let cooked = [0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0x08, 0x00];
        bytes.splice(..14, cooked);
    }
    bytes
}

fn header(format: Format, link: u32) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    match format {
        Format::Pcap => words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 1 << 18, link]),
        Format::PcapNanos => words(&[0xa1b2_3c4d, 0x0004_0002, 0, 0, 1 << 18, link]),
        // A section header, and an interface whose clock counts nanoseconds.
        Format::Pcapng => words(&[
            0x0a0d_0d0a,
            28,
            0x1a2b_3c4d,
            0x0000_0001,
            u32::MAX,
            u32::MAX,
            28,
            1,
            32,
            link,
            1 << 18,
            0x0001_0009,
            9,
            0,
            32,
        ]),
    }
}

fn record(file: &mut Vec<u8>, format: Format, at: Duration, packet: &[u8], length: usize) {
    let captured = u32::try_from(packet.len()).unwrap();
    let length = u32::try_from(length).unwrap();
    let secs = u32::try_from(at.as_secs()).unwrap();
    let mut words = |words: &[u32]| file.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    match format {
        Format::Pcap => words(&[secs, at.subsec_micros(), captured, length]),
        Format::PcapNanos => words(&[secs, at.subsec_nanos(), captured, length]),
        Format::Pcapng => {
            let nanos = u64::try_from(at.as_nanos()).unwrap();
            let (high, low) = (u32::try_from(nanos >> 32).unwrap(), nanos as u32);
            let padded = captured.next_multiple_of(4);
            words(&[6, 32 + padded, 0, high, low, captured, length]);
        }
    }
    file.extend_from_slice(packet);
    if format == Format::Pcapng {
        file.resize(file.len().next_multiple_of(4), 0);
        file.extend((32 + captured.next_multiple_of(4)).to_le_bytes());
    }
}
