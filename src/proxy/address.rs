//! Where the proxy listens and where it connects to.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use rustix::net::sockopt;
use tokio::net::{TcpStream, UnixStream};

use super::stream::Stream;
use super::tls::UpstreamTls;

/// Where one can listen or connect: `HOST:PORT`, or `unix:PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProxyAddress {
    /// A host and a port.
    Tcp(String),
    /// A Unix socket.
    Unix(PathBuf),
}

impl FromStr for ProxyAddress {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        if let Some(path) = written.strip_prefix("unix:") {
            return Ok(Self::Unix(path.into()));
        }
        match written.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(Self::Tcp(written.to_owned())),
            _ => Err("expected HOST:PORT or unix:PATH".to_owned()),
        }
    }
}

impl fmt::Display for ProxyAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => f.write_str(address),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// The server before which a proxy stands.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Upstream {
    /// Its connections are not encrypted.
    Plain(ProxyAddress),
    /// Its connections are encrypted; `HOST:PORT`.
    Encrypted(String, UpstreamTls),
}

impl Upstream {
    /// A new connection.
    pub(super) async fn connect(&self) -> io::Result<Stream> {
        let tcp = async |address: &str| {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            keep_alive(&stream)?;
            Ok::<_, io::Error>(stream)
        };
        match self {
            Self::Plain(ProxyAddress::Tcp(address)) => Ok(Stream::new(tcp(address).await?)),
            Self::Plain(ProxyAddress::Unix(path)) => Ok(Stream::new(UnixStream::connect(path).await?)),
            Self::Encrypted(address, tls) => tls.connect(tcp(address).await?).await,
        }
    }
}

impl Upstream {
    /// Waits for a reply to PING over a new connection: a server that refuses the guard's certificate, or is no Redis, sends none.
    /// Any reply will do, as a server may want a password.
    pub(super) async fn answers_ping(&self) -> io::Result<()> {
        let mut server = self.connect().await?;
        server.deliver(&mut b"*1\r\n$4\r\nPING\r\n".to_vec()).await?;
        match server.read_into(&mut Vec::new()).await? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it closes the connection")),
            _ => Ok(()),
        }
    }
}

/// Lets the kernel find within two minutes that the other host has vanished: neither side sends anything by itself while a client
/// only listens, and neither sees beyond the proxy.
pub(super) fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(60))?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(20))?;
    sockopt::set_tcp_keepcnt(stream, 3)?;
    Ok(())
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(address) => address.fmt(f),
            Self::Encrypted(address, _) => write!(f, "{address} (TLS)"),
        }
    }
}
