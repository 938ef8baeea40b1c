//! A real redis-server of one's own: on a free loopback port, without persistence, in a directory of its own, stopped
//! by its process id when dropped.
//!
//! Every test starts the servers it needs (some 30 ms each), so tests share nothing and run side by side. A server that
//! cannot be started fails the test: nothing is skipped.

mod cluster;
mod contents;
mod fetched;
mod options;
mod watched;

use std::net::SocketAddr;
use std::process::Command;

use redis::{Client, Connection, ConnectionAddr};
use redis_test::server::RedisServer;
use redis_test::utils::get_random_available_port;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

pub(crate) use cluster::Cluster;
pub(crate) use contents::{Contents, contents};
pub(crate) use fetched::fetched;
pub(crate) use options::Options;
pub(crate) use watched::Watched;

use crate::patience::until;

/// A running redis-server.
pub(crate) struct Server {
    process: RedisServer,
    port: u16,
    password: Option<String>,
    /// Its configuration, its pid file and whatever it writes. Dropped after the process.
    _directory: TempDir,
}

impl Server {
    /// A server with nothing special about it.
    pub(crate) fn start() -> Self {
        Self::with(&Options::new())
    }

    /// A server with these options.
    pub(crate) fn with(options: &Options) -> Self {
        assert_installed();
        // The free port may be gone before the server binds it: then it exits at once and gets another one.
        (0..20).find_map(|_| Self::try_port(get_random_available_port(), options)).expect("no port stayed free")
    }

    /// `None` if another process took the port meanwhile.
    fn try_port(port: u16, options: &Options) -> Option<Self> {
        let directory = tempfile::Builder::new().prefix("lockshift-redis-").tempdir().expect("a temporary directory");
        let config = directory.path().join("redis.conf");
        std::fs::write(&config, options.config(directory.path())).expect("the directory is ours");
        let process = RedisServer::new_with_addr_tls_modules_and_spawner(
            ConnectionAddr::Tcp("127.0.0.1".into(), port),
            Some(&config),
            None,
            false,
            None,
            &[],
            |command| options.spawn(command).expect("the server runs: its version was just asked"),
        );
        let mut server = Self { process, port, password: options.password.clone(), _directory: directory };
        until(format_args!("redis-server on port {port} answers"), || server.is_up_or_has_exited()).then_some(server)
    }

    /// `true` once it answers, `false` if the port turned out to be taken, `None` while that is open.
    fn is_up_or_has_exited(&mut self) -> Option<bool> {
        if let Some(status) = self.process.process.try_wait().expect("the child is ours") {
            let log = self.process.log_file_contents().unwrap_or_default();
            assert!(log.contains("Address already in use"), "redis-server did not start ({status}):\n{log}");
            return Some(false);
        }
        let mut connection = self.client().get_connection().ok()?;
        let info: redis::InfoDict = redis::cmd("INFO").arg("server").query(&mut connection).ok()?;
        // The server that answers on this port may be another server that was faster: then ours is about to exit.
        (info.get("process_id") == Some(self.process.process.id())).then_some(true)
    }

    /// Its address.
    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// How to reach it, password included: `redis://127.0.0.1:6379/`.
    pub(crate) fn url(&self) -> String {
        let login = self.password.as_ref().map(|password| format!(":{password}@")).unwrap_or_default();
        format!("redis://{login}{}/", self.address())
    }

    /// A client of the `redis` crate for it.
    pub(crate) fn client(&self) -> Client {
        Client::open(self.url()).expect("the url is well formed")
    }

    /// A new blocking connection to it.
    pub(crate) fn connect(&self) -> Connection {
        self.client().get_connection().expect("the server is up")
    }

    /// Stops it from running until [`resume`](Self::resume): connections stay open, nothing is answered.
    pub(crate) fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it run again.
    pub(crate) fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Starts it again where it was, after [`kill`](Self::kill), with nothing in it.
    pub(crate) fn restart(&mut self) {
        let again = || Self::try_port(self.port, &Options::new());
        *self = until(format_args!("port {} is free again", self.port), again);
    }

    /// Ends it at once, as a power failure would. Its port stays known, and refuses.
    pub(crate) fn kill(&mut self) {
        self.process.stop();
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process.process), signal).expect("the child is ours and runs");
    }
}

fn assert_installed() {
    let version = Command::new("redis-server").arg("--version").output();
    assert!(
        version.is_ok_and(|output| output.status.success()),
        "these tests need redis-server in PATH: `./test` installs it on Debian and Ubuntu"
    );
}

#[test]
fn a_server_answers_sleeps_wakes_and_dies() {
    let mut server = Server::start();
    let mut connection = server.connect();
    assert_eq!(redis::cmd("PING").query(&mut connection), Ok("PONG".to_owned()));

    server.pause();
    connection.set_read_timeout(Some(std::time::Duration::from_millis(50))).unwrap();
    assert!(redis::cmd("PING").exec(&mut connection).is_err_and(|error| error.is_timeout()));

    server.resume();
    assert_eq!(redis::cmd("PING").query(&mut server.connect()), Ok("PONG".to_owned()));

    server.kill();
    assert!(server.client().get_connection().is_err_and(|error| error.is_connection_refusal()));
}

#[test]
fn servers_started_side_by_side_do_not_meet() {
    let servers = std::thread::scope(|scope| {
        let started: Vec<_> = (0..8).map(|_| scope.spawn(Server::start)).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    for (number, server) in servers.iter().enumerate() {
        redis::cmd("SET").arg("number").arg(number).exec(&mut server.connect()).unwrap();
    }
    for (number, server) in servers.iter().enumerate() {
        assert_eq!(redis::cmd("GET").arg("number").query(&mut server.connect()), Ok(number));
    }
}
