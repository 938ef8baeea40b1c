//! Packet captures (pcap and pcapng) as commands with their replies.
//!
//! A capture needs no rights on the server, and it has what MONITOR has not: the replies, and when each command was sent
//! and answered. TCP streams are put together from their packets, RESP2 and RESP3 are read by the `redis-protocol` crate, and
//! each request is paired with its reply. A file may have several servers.
//!
//! Exchanges come in the order of their requests. The server ran each between its request and its reply, so of two that were
//! under way at once the order is not known.
//!
//! Memory depends on the connections that are alive and on the exchanges of the last second.

mod exchange;
mod packets;
mod reader;
mod replies;
mod session;
mod stream;

pub use exchange::{CaptureStatistics, CapturedExchange};
pub use packets::CaptureError;
pub use reader::{is_capture, read};
