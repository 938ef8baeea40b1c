//! What a connection costs in memory.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::sides::Side;

/// As many as the limit of open files allows, up to this.
const CONNECTIONS: usize = 10_000;
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens connections, uses each once, and says by how much the guard has grown.
pub(crate) fn of_connections(guard: &Side) -> String {
    let id = guard.process.as_ref().expect("it is a process").id();
    let before = resident_kib(id);
    let mut open = Vec::new();
    for _ in 0..CONNECTIONS {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", guard.port)) else { break };
        // At its limit of open files the guard lets further clients wait.
        stream.set_read_timeout(Some(PATIENCE)).expect("it is longer than nothing");
        let mut answer = [0; 7];
        let is_served = stream.write_all(b"PING\r\n").and_then(|()| stream.read_exact(&mut answer)).is_ok();
        if !is_served || answer != *b"+PONG\r\n" {
            break;
        }
        open.push(stream);
    }
    let grown = resident_kib(id).saturating_sub(before);
    let each = grown as f64 / open.len().max(1) as f64;
    format!("{} idle connections: {grown} KiB of the guard, {each:.1} KiB each.", open.len())
}

fn resident_kib(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux says it");
    line.trim().trim_end_matches(" kB").parse().expect("it is a number")
}
