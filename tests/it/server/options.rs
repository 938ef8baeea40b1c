//! What may be special about a server: lines of its configuration.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::Server;
use crate::patience::until;

/// What is special about a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(super) password: Option<String>,
    program: Option<PathBuf>,
    lines: Vec<String>,
    is_sentinel: bool,
    is_old: bool,
}

impl Options {
    /// Nothing.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// It is this program, and not the redis-server in PATH.
    pub(crate) fn program(self, program: PathBuf) -> Self {
        Self { program: Some(program), ..self }
    }

    /// It is this program, of Redis 2.8 or later, which may not know every line that this writes elsewhere.
    pub(crate) fn old_program(self, program: PathBuf) -> Self {
        Self { is_old: true, ..self.program(program) }
    }

    /// It wants a password: `requirepass`.
    pub(crate) fn password(self, password: &str) -> Self {
        Self { password: Some(password.to_owned()), ..self }.line(format_args!("requirepass {password}"))
    }

    /// It has this much memory, and refuses to write when that is full.
    pub(crate) fn max_memory(self, bytes: u64) -> Self {
        self.line(format_args!("maxmemory {bytes}")).line("maxmemory-policy noeviction")
    }

    /// It follows `master`, and only reads.
    pub(crate) fn replica_of(self, master: &Server) -> Self {
        self.line(format_args!("replicaof 127.0.0.1 {}", master.address().port()))
    }

    /// It is no database but a sentinel, alone, that watches `master` under the name `mymaster`.
    pub(crate) fn sentinel_of(self, master: &Server) -> Self {
        let port = master.address().port();
        let watches = self.line(format_args!("sentinel monitor mymaster 127.0.0.1 {port} 1"));
        Self { is_sentinel: true, ..watches }
    }

    /// One more line of `redis.conf`.
    pub(crate) fn line(mut self, line: impl ToString) -> Self {
        self.lines.push(line.to_string());
        self
    }

    /// Starts it, where `command` would start the redis-server in PATH.
    pub(super) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        if self.is_sentinel {
            command.arg("--sentinel");
        }
        match &self.program {
            None => command.spawn(),
            Some(program) => {
                let all: Vec<_> = command.get_args().collect();
                // What no server before 7.0 knows.
                let place = all.iter().position(|arg| self.is_old && *arg == "--enable-debug-command");
                let (before, after) = place.map_or((&all[..], &[][..]), |at| (&all[..at], &all[at + 2..]));
                Command::new(program).args(before).args(after).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
            }
        }
    }

    /// The text of `redis.conf` for a server that lives in `directory`.
    pub(super) fn config(&self, directory: &Path) -> String {
        let home = directory.display();
        let mut text = format!("dir {home}\npidfile {home}/redis.pid\nappendonly no\n");
        if !self.is_old {
            text += "repl-diskless-sync-delay 0\n";
        }
        for line in &self.lines {
            writeln!(text, "{line}").expect("a String takes everything");
        }
        text
    }
}

#[test]
fn a_password_is_asked_for() {
    let server = Server::with(&Options::new().password("sesame"));
    server.connect();
    let stranger = redis::Client::open(format!("redis://{}/", server.address())).unwrap().get_connection();
    assert_eq!(redis::cmd("PING").exec(&mut stranger.unwrap()).unwrap_err().code(), Some("NOAUTH"));
}

#[test]
fn a_full_memory_refuses_to_write() {
    let server = Server::with(&Options::new().max_memory(1));
    let refusal = redis::cmd("SET").arg("key").arg("value").exec(&mut server.connect()).unwrap_err();
    assert_eq!(refusal.code(), Some("OOM"));
}

#[test]
fn a_replica_follows_and_only_reads() {
    let master = Server::start();
    redis::cmd("SET").arg("key").arg("value").exec(&mut master.connect()).unwrap();
    let replica = Server::with(&Options::new().replica_of(&master));
    let mut connection = replica.connect();
    until("the replica has the key", || {
        redis::cmd("GET").arg("key").query::<Option<String>>(&mut connection).ok().flatten()
    });
    let refusal = redis::cmd("SET").arg("key").arg("other").exec(&mut connection).unwrap_err();
    assert_eq!(refusal.code(), Some("READONLY"));
}

#[test]
fn any_other_line_of_the_configuration() {
    let server = Server::with(&Options::new().line("databases 3"));
    let databases: (String, u32) =
        redis::cmd("CONFIG").arg("GET").arg("databases").query(&mut server.connect()).unwrap();
    assert_eq!(databases.1, 3);
}
