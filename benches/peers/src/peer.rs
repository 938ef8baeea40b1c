//! A library under measurement: a process of its own, asked line by line.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::server::Server;
use crate::worker;

/// Those in other languages: name, language, program below `target/peers`.
pub(crate) const FOREIGN: [&str; 7] =
    ["redis-py", "pottery", "node-redlock", "redis-semaphore", "redisson", "redsync", "bsm-redislock"];

/// A library, running.
pub(crate) struct Peer {
    pub(crate) name: String,
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// The commands that it sends itself, and not from its scripts.
    pub(crate) sent: BTreeSet<String>,
}

impl Peer {
    /// Starts it.
    ///
    /// # Errors
    /// Why it is absent.
    pub(crate) fn start(name: &str, server: &Server, programs: &Path) -> Result<Self, String> {
        let mut command = if worker::NAMES.contains(&name) {
            let mut command = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
            command.args(["worker", name]);
            command
        } else {
            let program = programs.join(name);
            if !program.exists() {
                let reason = std::fs::read_to_string(programs.join(format!("{name}.absent")));
                return Err(reason.unwrap_or_else(|_| "it was not prepared".to_owned()).trim().to_owned());
            }
            Command::new(program)
        };
        command.arg(server.port.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|error| error.to_string())?;
        let requests = process.stdin.take().expect("it is piped");
        let answers = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut peer = Self { name: name.to_owned(), process, requests, answers, sent: BTreeSet::new() };
        match peer.line().as_deref() {
            Some("ready") => Ok(peer),
            other => Err(format!("it does not start: {}", other.unwrap_or("it ended"))),
        }
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let length = self.answers.read_line(&mut line).ok()?;
        (length > 0).then(|| line.trim().to_owned())
    }

    /// Sends a request; the numbers of the answer, or `None` if the library has nothing of the kind.
    pub(crate) fn ask(&mut self, request: &str) -> Option<Vec<f64>> {
        writeln!(self.requests, "{request}").ok()?;
        self.requests.flush().ok()?;
        let line = self.line()?;
        line.split_whitespace().map(|word| word.parse().ok()).collect()
    }

    /// Does `request` while the server shows its commands, and notes which ones this library sends.
    pub(crate) fn probe(&mut self, server: &Server, request: &str) -> bool {
        let mut monitor = TcpStream::connect(("127.0.0.1", server.port)).expect("the server accepts connections");
        monitor.write_all(b"MONITOR\r\n").expect("it is connected");
        monitor.set_read_timeout(Some(Duration::from_millis(200))).expect("it is a timeout");
        let mut shown = Vec::new();
        // The reply to MONITOR comes before anything else is shown.
        let mut chunk = [0; 65536];
        while !shown.ends_with(b"+OK\r\n") {
            let length = monitor.read(&mut chunk).expect("the server replies");
            shown.extend_from_slice(&chunk[..length]);
        }
        let has_it = self.ask(request).is_some();
        while let Ok(length @ 1..) = monitor.read(&mut chunk) {
            shown.extend_from_slice(&chunk[..length]);
        }
        let text = String::from_utf8_lossy(&shown);
        let sent = text.lines().filter_map(|line| {
            let (head, words) = line.split_once("] \"")?;
            (!head.ends_with(" lua")).then(|| words.split('"').next().unwrap_or_default().to_lowercase())
        });
        self.sent.extend(sent);
        has_it
    }

    /// What it has sent since the server's counts were reset: how many commands, and the microseconds that they took.
    pub(crate) fn cost(&self, server: &mut Server) -> (f64, f64) {
        let commands = server.commands();
        let of_ours = commands.iter().filter(|(name, _)| self.sent.contains(name.split('|').next().unwrap_or(name)));
        of_ours.fold((0.0, 0.0), |(calls, usec), (_, (more, time))| (calls + more, usec + time))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
