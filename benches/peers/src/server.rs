//! A server of one's own, and what it says about its commands.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use redis::{Client, Connection, cmd};

/// A server that ends with this value.
pub(crate) struct Server {
    process: Child,
    pub(crate) port: u16,
    pub(crate) connection: Connection,
}

impl Server {
    pub(crate) fn start() -> Self {
        let free = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let port = free.local_addr().expect("it is bound").port();
        drop(free);
        let process = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--save", "", "--appendonly", "no", "--maxclients", "20000"])
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is installed");
        let client = Client::open(format!("redis://127.0.0.1:{port}/")).expect("it is well formed");
        let connection = loop {
            match client.get_connection() {
                Ok(connection) => break connection,
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        Self { process, port, connection }
    }

    pub(crate) fn version(&mut self) -> String {
        let info: String = cmd("INFO").arg("server").query(&mut self.connection).expect("it replies");
        info.lines().find_map(|line| line.strip_prefix("redis_version:")).unwrap_or_default().to_owned()
    }

    /// Forgets all keys and counts.
    pub(crate) fn reset(&mut self) {
        cmd("FLUSHALL").exec(&mut self.connection).expect("it replies");
        cmd("CONFIG").arg("RESETSTAT").exec(&mut self.connection).expect("it replies");
    }

    /// Since the last reset: by command, how often it ran and how many microseconds it took.
    pub(crate) fn commands(&mut self) -> BTreeMap<String, (f64, f64)> {
        let info: String = cmd("INFO").arg("commandstats").query(&mut self.connection).expect("it replies");
        let field = |fields: &str, name: &str| -> f64 {
            let value = fields.split(',').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
            value.and_then(|value| value.parse().ok()).unwrap_or(0.0)
        };
        info.lines()
            .filter_map(|line| line.trim().strip_prefix("cmdstat_")?.split_once(':'))
            .map(|(name, fields)| (name.to_owned(), (field(fields, "calls"), field(fields, "usec"))))
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
