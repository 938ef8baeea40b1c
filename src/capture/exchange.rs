//! What a capture shows: commands with their replies, and how much was missing.

use std::net::SocketAddr;

use crate::wire::{Command, Reply, UnixTime};

/// A command with its reply.
#[derive(Clone, Debug)]
pub struct CapturedExchange {
    /// The server.
    pub server: SocketAddr,
    /// The client.
    pub client: SocketAddr,
    /// The database that the connection has selected; 0 if the capture does not show a SELECT.
    pub database: u32,
    /// When the last byte of the request was captured.
    pub at: UnixTime,
    /// When the last byte of the reply was captured; `None` if that is missing.
    pub answered_at: Option<UnixTime>,
    /// The command.
    pub command: Command,
    /// The reply; `None` if it is missing, or if replies cannot be paired with requests on this connection.
    pub reply: Option<Reply>,
}

/// How much of a capture was understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureStatistics {
    /// Number of packets.
    pub packets: u64,
    /// Number of packets that are no TCP over IP, or whose link layer is not supported.
    pub foreign_packets: u64,
    /// Number of commands.
    pub commands: u64,
    /// Number of commands without a reply.
    pub unanswered: u64,
    /// Number of gaps: bytes that were not captured, or that are not RESP. What is in them is not known.
    pub gaps: u64,
    /// Number of servers.
    pub servers: u64,
}
