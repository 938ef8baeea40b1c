//! One server, by its address: how it is reached and within what time.

use std::fmt;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use redis::io::tcp::TcpSettings;
use redis::io::tcp::socket2::TcpKeepalive;
use redis::{Client, Connection, ConnectionAddr, ConnectionInfo, RedisConnectionInfo, RedisResult};

use crate::driver::blocking::connect_within;

/// How long a server may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timeouts {
    /// To accept a connection, handshake and login included.
    pub(super) connect: Duration,
    /// To answer a command.
    pub(super) response: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(2), response: Duration::from_secs(1) }
    }
}

/// One server. Cheap to clone: each command does.
#[derive(Clone, Debug)]
pub(super) struct Node {
    info: Arc<ConnectionInfo>,
    name: Arc<str>,
    /// The address without its password.
    shown: Arc<str>,
    /// Where the password of each new connection comes from, if it may change.
    password: Option<PasswordSource>,
}

/// Where the password of each new connection comes from.
#[derive(Clone)]
pub(super) struct PasswordSource(pub(super) Arc<dyn Fn() -> String + Send + Sync>);

impl fmt::Debug for PasswordSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordSource")
    }
}

impl Node {
    /// The server that is reached in this way. The kernel notices a peer that vanished, and sends commands at once.
    pub(super) fn new(info: ConnectionInfo, shown: String) -> Self {
        let keepalive = TcpKeepalive::new().with_time(Duration::from_secs(15)).with_interval(Duration::from_secs(5));
        let tcp = TcpSettings::default().set_keepalive(keepalive).set_nodelay(true);
        let settings = with_password(info.redis_settings().clone());
        Self::reached_by(info.set_tcp_settings(tcp).set_redis_settings(settings), shown.into(), None)
    }

    fn reached_by(info: ConnectionInfo, shown: Arc<str>, password: Option<PasswordSource>) -> Self {
        let name = info.addr().to_string().into();
        Self { info: Arc::new(info), name, shown, password }
    }

    /// How it is reached, with its database and its login.
    pub(super) fn info(&self) -> &ConnectionInfo {
        &self.info
    }

    /// What distinguishes it from others: its address, without any login.
    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn address(&self) -> &ConnectionAddr {
        self.info.addr()
    }

    /// Whether it is a socket of this machine.
    pub(super) fn is_local(&self) -> bool {
        matches!(self.address(), ConnectionAddr::Unix(_))
    }

    /// Whether connections to it are encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        matches!(self.address(), ConnectionAddr::TcpTls { .. })
    }

    /// The same, trusting these certificates.
    #[cfg(feature = "tls")]
    pub(super) fn trusting(&self, certificates: &redis::TlsCertificates) -> RedisResult<Self> {
        if !self.is_encrypted() {
            return Ok(self.clone());
        }
        let client = Client::build_with_tls(ConnectionInfo::clone(&self.info), certificates.clone())?;
        let info = client.get_connection_info().clone();
        Ok(Self::reached_by(info, Arc::clone(&self.shown), self.password.clone()))
    }

    /// The same, with this login in place of that of the address, as far as it is given.
    pub(super) fn logging_in(&self, user: Option<&str>, password: Option<&str>) -> Self {
        let mut settings = self.info.redis_settings().clone();
        if let Some(user) = user {
            settings = settings.set_username(user);
        }
        if let Some(password) = password {
            settings = settings.set_password(password);
        }
        let info = ConnectionInfo::clone(&self.info).set_redis_settings(with_password(settings));
        let source = if password.is_some() { None } else { self.password.clone() };
        Self::reached_by(info, Arc::clone(&self.shown), source)
    }

    /// The same, where each new connection asks for its password.
    pub(super) fn asking_for_password(&self, source: PasswordSource) -> Self {
        Self { password: Some(source), ..self.clone() }
    }

    /// Its host and port, if it is to be encrypted and answers a plain PING. A port that is encrypted refuses that at once.
    pub(super) fn unencrypted_port(&self) -> Option<String> {
        const PATIENCE: Duration = Duration::from_millis(500);
        let ConnectionAddr::TcpTls { host, port, .. } = self.address() else { return None };
        let address = (host.as_str(), *port).to_socket_addrs().ok()?.next()?;
        let mut socket = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
        socket.set_read_timeout(Some(PATIENCE)).ok()?;
        socket.write_all(b"PING\r\n").ok()?;
        let mut first = [0];
        socket.read_exact(&mut first).ok()?;
        // "+PONG", or "-NOAUTH Authentication required."
        matches!(&first, b"+" | b"-").then(|| format!("{host}:{port}"))
    }

    /// The same, at another address: that of a node which a cluster or a sentinel names. One without a host is at ours.
    pub(super) fn moved_to(&self, host: &str, port: u16) -> Self {
        let host = |ours: &str| if host.is_empty() { ours.to_owned() } else { host.to_owned() };
        let addr = match self.address() {
            ConnectionAddr::Tcp(ours, _) => ConnectionAddr::Tcp(host(ours), port),
            ConnectionAddr::TcpTls { host: ours, insecure, tls_params, .. } => {
                ConnectionAddr::TcpTls { host: host(ours), port, insecure: *insecure, tls_params: tls_params.clone() }
            }
            other => other.clone(),
        };
        let shown = addr.to_string().into();
        Self::reached_by(ConnectionInfo::clone(&self.info).set_addr(addr), shown, self.password.clone())
    }

    /// A client of the `redis` crate for it, with its present password.
    pub(super) fn client(&self) -> RedisResult<Client> {
        let info = ConnectionInfo::clone(&self.info);
        let Some(PasswordSource(password)) = &self.password else { return Client::open(info) };
        let settings = info.redis_settings().clone().set_password(password());
        Client::open(info.set_redis_settings(settings))
    }

    /// A new connection.
    pub(super) fn open(&self, timeouts: Timeouts) -> RedisResult<Connection> {
        let connection = connect_within(&self.client()?, timeouts.connect)?;
        connection.set_read_timeout(Some(timeouts.response))?;
        connection.set_write_timeout(Some(timeouts.response))?;
        Ok(connection)
    }

    /// A new connection for tasks.
    #[cfg(feature = "tokio")]
    pub(super) async fn open_async(&self, timeouts: Timeouts) -> RedisResult<redis::aio::MultiplexedConnection> {
        let config = redis::AsyncConnectionConfig::new()
            .set_connection_timeout(Some(timeouts.connect))
            .set_response_timeout(Some(timeouts.response));
        self.client()?.get_multiplexed_async_connection_with_config(&config).await
    }
}

/// A user without a password logs in with an empty one, which Redis accepts of those that have none. The `redis` crate would not
/// log in at all, and all commands would be sent as the user `default`; of that one it is right, and servers before Redis 6 have
/// no other.
fn with_password(settings: RedisConnectionInfo) -> RedisConnectionInfo {
    let is_without = settings.username().is_some_and(|user| user != "default") && settings.password().is_none();
    if is_without { settings.set_password("") } else { settings }
}

impl fmt::Display for Node {
    /// The address without its password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}
