//! Where the proxy listens, where it connects to, and how it ends.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::counters::Counts;
use super::guarded_keys::GuardedKeys;
use super::session::{Session, Shared, Stream};

/// Where one can listen or connect: `HOST:PORT`, or `unix:PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Address {
    /// A host and a port.
    Tcp(String),
    /// A Unix socket.
    Unix(PathBuf),
}

impl FromStr for Address {
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

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => f.write_str(address),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// A proxy that listens and accepts no client yet.
pub struct Guard {
    listener: Listener,
    at: Address,
    server: Address,
    shared: Arc<Shared>,
}

/// How long the server may take to accept a connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long open commands may take when the proxy ends.
const DRAIN: Duration = Duration::from_secs(10);

/// Begins to listen. Each client connection will have a connection of its own to `server`.
///
/// # Errors
/// The address cannot be listened on.
pub async fn bind(listen: &Address, server: Address, keys: GuardedKeys) -> io::Result<Guard> {
    let (listener, at) = match listen {
        Address::Tcp(address) => {
            let listener = TcpListener::bind(address).await?;
            let at = Address::Tcp(listener.local_addr()?.to_string());
            (Listener::Tcp(listener), at)
        }
        Address::Unix(path) => (Listener::Unix(UnixListener::bind(path)?), listen.clone()),
    };
    Ok(Guard { listener, at, server, shared: Arc::new(Shared { keys, counters: Default::default() }) })
}

impl Guard {
    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.at
    }

    /// Serves clients until `end` is ready. Then no client is accepted any more, and each connection is closed as soon as
    /// no command of it is under way. Returns what was counted.
    pub async fn run(self, end: impl Future<Output = ()>) -> Counts {
        let (drain, draining) = watch::channel(false);
        let mut sessions = JoinSet::new();
        let mut end = std::pin::pin!(end);
        loop {
            tokio::select! {
                () = &mut end => break,
                accepted = self.accept() => match accepted {
                    Ok(client) => {
                        let session = serve(Arc::clone(&self.shared), client, self.server.clone(), draining.clone());
                        sessions.spawn(session);
                    }
                    Err(error) => {
                        log::warn!(target: "lockshift::guard", "cannot accept a client: {error}");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
                Some(_) = sessions.join_next() => {}
            }
        }
        drop(self.listener);
        if let Address::Unix(path) = &self.at {
            let _ = std::fs::remove_file(path);
        }
        let _ = drain.send(true);
        let all_ended = async { while sessions.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(DRAIN, all_ended).await;
        self.shared.counters.counts()
    }

    async fn accept(&self) -> io::Result<Stream> {
        Ok(match &self.listener {
            Listener::Tcp(listener) => {
                let (client, _) = listener.accept().await?;
                client.set_nodelay(true)?;
                Box::new(client)
            }
            Listener::Unix(listener) => Box::new(listener.accept().await?.0),
        })
    }
}

async fn serve(shared: Arc<Shared>, mut client: Stream, server: Address, drain: watch::Receiver<bool>) {
    use tokio::io::AsyncWriteExt;
    match tokio::time::timeout(PATIENCE, connect(&server)).await {
        Ok(Ok(upstream)) => Session::new(shared, client, upstream).run(drain).await,
        Ok(Err(error)) => {
            log::warn!(target: "lockshift::guard", "cannot connect to {server}: {error}");
            let _ = client.write_all(b"-ERR lockshift guard: cannot connect to the server\r\n").await;
        }
        Err(_) => {
            log::warn!(target: "lockshift::guard", "cannot connect to {server}: it did not accept within {PATIENCE:?}");
            let _ = client.write_all(b"-ERR lockshift guard: the server does not answer\r\n").await;
        }
    }
}

async fn connect(server: &Address) -> io::Result<Stream> {
    Ok(match server {
        Address::Tcp(address) => {
            let upstream = TcpStream::connect(address).await?;
            upstream.set_nodelay(true)?;
            Box::new(upstream)
        }
        Address::Unix(path) => Box::new(UnixStream::connect(path).await?),
    })
}
