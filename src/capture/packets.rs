//! From the bytes of a file to TCP segments: blocks by `pcap-parser`, headers by `etherparse`.

use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};

use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, TransportSlice};
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{Block, LegacyPcapReader, Linktype, PcapBlockOwned, PcapError, PcapNGReader};

use crate::wire::UnixTime;

/// Bytes of a file that are read at a time; longer blocks make the buffer grow.
const CHUNK: usize = 1 << 20;
/// Maximum length of a block.
const MOST: usize = 1 << 26;

/// Why a capture cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file ends in the middle of a block.
    #[error("the capture ends in the middle of a packet: its writer may have failed")]
    CutOff,
    /// The bytes are no blocks of pcap or pcapng.
    #[error("not a valid pcap or pcapng file: {0}")]
    Malformed(String),
}

/// One TCP segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment<'a> {
    pub(super) at: UnixTime,
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) seq: u32,
    pub(super) is_syn: bool,
    /// The number of the next byte that its sender expects, if it says that.
    pub(super) acknowledged: Option<u32>,
    /// Whether the connection ends with it.
    pub(super) ends: bool,
    pub(super) payload: &'a [u8],
    /// The number of bytes of its payload that were sent; the capture may have fewer.
    pub(super) sent: usize,
}

/// The link layer and the clock of an interface.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link: Linktype,
    /// Ticks of a second.
    resolution: u64,
    offset_secs: i64,
}

/// Hands each packet of a capture to `each`: its segment, or `None` if it is no TCP over IP.
pub(super) fn each_packet(input: Box<dyn Read>, each: &mut dyn FnMut(Option<Segment<'_>>)) -> Result<(), CaptureError> {
    let malformed = |error: &PcapError<&[u8]>| CaptureError::Malformed(error.to_string());
    let mut head = Vec::new();
    let mut input = input;
    // The readers expect that the first bytes that they get have the whole header.
    input.by_ref().take(CHUNK as u64 / 16).read_to_end(&mut head)?;
    let is_legacy = !head.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]);
    let input = io::Cursor::new(head).chain(input);
    let mut reader: Box<dyn PcapReaderIterator> = if is_legacy {
        Box::new(LegacyPcapReader::new(CHUNK, input).map_err(|error| malformed(&error))?)
    } else {
        Box::new(PcapNGReader::new(CHUNK, input).map_err(|error| malformed(&error))?)
    };
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut capacity = CHUNK;
    loop {
        let used = match reader.next() {
            Ok((used, block)) => {
                packet(&block, &mut interfaces, each);
                used
            }
            Err(PcapError::Eof) => return Ok(()),
            Err(PcapError::Incomplete(_)) => {
                if reader.reader_exhausted() {
                    return Err(CaptureError::CutOff);
                }
                refill(&mut *reader)?;
                continue;
            }
            Err(PcapError::BufferTooSmall) if capacity < MOST => {
                capacity *= 2;
                reader.grow(capacity);
                continue;
            }
            Err(PcapError::UnexpectedEof) => return Err(CaptureError::CutOff),
            Err(error) => return Err(malformed(&error)),
        };
        reader.consume(used);
    }
}

fn refill(reader: &mut (dyn PcapReaderIterator + '_)) -> Result<(), CaptureError> {
    match reader.refill() {
        Ok(()) => Ok(()),
        Err(PcapError::ReadError) => Err(io::Error::other("the file cannot be read").into()),
        Err(error) => Err(CaptureError::Malformed(error.to_string())),
    }
}

fn packet(block: &PcapBlockOwned<'_>, interfaces: &mut Vec<Interface>, each: &mut dyn FnMut(Option<Segment<'_>>)) {
    match block {
        PcapBlockOwned::LegacyHeader(header) => {
            let resolution = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
            *interfaces = vec![Interface { link: header.network, resolution, offset_secs: 0 }];
        }
        PcapBlockOwned::Legacy(packet) => {
            let Some(interface) = interfaces.first() else { return each(None) };
            let at = moment(i64::from(packet.ts_sec), u64::from(packet.ts_usec), interface.resolution);
            each(segment(interface.link, packet.data, at));
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => interfaces.clear(),
        PcapBlockOwned::NG(Block::InterfaceDescription(description)) => interfaces.push(Interface {
            link: description.linktype,
            resolution: description.ts_resolution().unwrap_or(1_000_000),
            offset_secs: description.ts_offset(),
        }),
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            let Some(interface) = interfaces.get(packet.if_id as usize) else { return each(None) };
            let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
            let secs = i64::try_from(ticks / interface.resolution).unwrap_or(0).saturating_add(interface.offset_secs);
            let at = moment(secs, ticks % interface.resolution, interface.resolution);
            let length = packet.data.len().min(packet.caplen as usize);
            each(segment(interface.link, &packet.data[..length], at));
        }
        // A simple packet has no time.
        PcapBlockOwned::NG(Block::SimplePacket(_)) => each(None),
        PcapBlockOwned::NG(_) => {}
    }
}

/// So many seconds and so many ticks since 1970.
fn moment(secs: i64, ticks: u64, resolution: u64) -> UnixTime {
    let nanos = u128::from(ticks) * 1_000_000_000 / u128::from(resolution.max(1));
    let nanos = i64::try_from(nanos).unwrap_or(0);
    UnixTime::from_nanos(secs.saturating_mul(1_000_000_000).saturating_add(nanos))
}

fn segment(link: Linktype, data: &[u8], at: UnixTime) -> Option<Segment<'_>> {
    let by_ether_type = |type_at: usize, header: usize| {
        let number = u16::from_be_bytes([*data.get(type_at)?, *data.get(type_at + 1)?]);
        Some(LaxSlicedPacket::from_ether_type(EtherType(number), data.get(header..)?))
    };
    let packet = match link {
        Linktype::ETHERNET => LaxSlicedPacket::from_ethernet(data).ok()?,
        Linktype::LINUX_SLL => by_ether_type(14, 16)?,
        Linktype(276) => by_ether_type(0, 20)?,
        Linktype::NULL | Linktype::LOOP => LaxSlicedPacket::from_ip(data.get(4..)?).ok()?,
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 | Linktype(12 | 14) => LaxSlicedPacket::from_ip(data).ok()?,
        _ => return None,
    };
    let Some(TransportSlice::Tcp(tcp)) = &packet.transport else { return None };
    let (from, to, length): (IpAddr, IpAddr, usize) = match packet.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let length = usize::from(header.total_len()).checked_sub(header.slice().len());
            (header.source_addr().into(), header.destination_addr().into(), length.unwrap_or(0))
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            // Extension headers count as payload.
            let length = usize::from(header.payload_length()).saturating_sub(ip.extensions().slice().len());
            (header.source_addr().into(), header.destination_addr().into(), length)
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let payload = tcp.payload();
    // Segmentation offload writes a length of 0, and short frames are padded.
    let sent = if length == 0 { payload.len() } else { length.saturating_sub(tcp.header_slice().len()) };
    Some(Segment {
        at,
        from: SocketAddr::new(from, tcp.source_port()),
        to: SocketAddr::new(to, tcp.destination_port()),
        seq: tcp.sequence_number(),
        is_syn: tcp.syn(),
        acknowledged: tcp.ack().then(|| tcp.acknowledgment_number()),
        ends: tcp.fin() || tcp.rst(),
        payload: &payload[..payload.len().min(sent)],
        sent,
    })
}
