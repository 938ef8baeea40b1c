//! Where the proxy listens and where it connects to.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use tokio::net::{TcpStream, UnixStream};

use super::session::Stream;

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

/// A connection to the server.
pub(super) async fn connect(server: &ProxyAddress) -> io::Result<Stream> {
    Ok(match server {
        ProxyAddress::Tcp(address) => {
            let upstream = TcpStream::connect(address).await?;
            upstream.set_nodelay(true)?;
            Box::new(upstream)
        }
        ProxyAddress::Unix(path) => Box::new(UnixStream::connect(path).await?),
    })
}
