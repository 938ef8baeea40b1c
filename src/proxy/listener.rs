//! Accepts clients, and ends in order.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::address::{ProxyAddress, connect};
use super::admin;
use super::counters::ProxyCounts;
use super::event::EventSink;
use super::guarded_keys::GuardedKeys;
use super::metrics;
use super::session::{ProxySession, ProxyShared, Stream};

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// A proxy that listens and accepts no client yet.
pub struct GuardProxy {
    listener: Listener,
    at: ProxyAddress,
    server: ProxyAddress,
    shared: ProxyShared,
    admin: Option<TcpListener>,
}

/// How long the server may take to accept a connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long open commands may take when the proxy ends.
const DRAIN: Duration = Duration::from_secs(10);

/// Begins to listen. Each client connection will have a connection of its own to `server`.
///
/// # Errors
/// The address cannot be listened on.
pub async fn bind(listen: &ProxyAddress, server: ProxyAddress, keys: GuardedKeys) -> io::Result<GuardProxy> {
    let (listener, at) = match listen {
        ProxyAddress::Tcp(address) => {
            let listener = TcpListener::bind(address).await?;
            let at = ProxyAddress::Tcp(listener.local_addr()?.to_string());
            (Listener::Tcp(listener), at)
        }
        ProxyAddress::Unix(path) => (Listener::Unix(UnixListener::bind(path)?), listen.clone()),
    };
    let shared = ProxyShared {
        keys,
        counters: Default::default(),
        turns: Default::default(),
        answers: metrics::seconds(),
        renew_for: None,
        sink: None,
    };
    Ok(GuardProxy { listener, at, server, shared, admin: None })
}

impl GuardProxy {
    /// Where it listens.
    pub fn address(&self) -> &ProxyAddress {
        &self.at
    }

    /// The same, extending each lock while the connection of its client lives, for at most this long after it was acquired.
    #[must_use]
    pub fn renewing_for(mut self, most: Duration) -> Self {
        self.shared.renew_for = Some(most);
        self
    }

    /// The same, answering `GET /metrics` (OpenMetrics) and `GET /healthz` at this address, `HOST:PORT`.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub async fn administered_at(mut self, address: &str) -> io::Result<Self> {
        self.admin = Some(TcpListener::bind(address).await?);
        Ok(self)
    }

    /// The same, reporting every event to this sink.
    #[must_use]
    pub fn reporting_to(mut self, sink: EventSink) -> Self {
        self.shared.sink = Some(sink);
        self
    }

    /// Serves clients until `end` is ready. Then no client is accepted any more, and each connection is closed as soon as
    /// no command of it is under way. Returns what was counted.
    pub async fn run(self, end: impl Future<Output = ()>) -> ProxyCounts {
        let Self { listener, at, server, shared, admin } = self;
        let shared = Arc::new(shared);
        let mut readers = JoinSet::new();
        if let Some(admin) = admin {
            readers.spawn(admin::serve(admin, Arc::clone(&shared), server.clone()));
        }
        let mut number = 0_u64;
        let (drain, draining) = watch::channel(false);
        let mut sessions = JoinSet::new();
        let mut end = std::pin::pin!(end);
        loop {
            tokio::select! {
                () = &mut end => break,
                accepted = accept(&listener) => match accepted {
                    Ok((client, name)) => {
                        number += 1;
                        let name = name.unwrap_or_else(|| format!("unix:{number}")).into();
                        let session = serve(Arc::clone(&shared), name, client, server.clone(), draining.clone());
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
        drop(listener);
        if let ProxyAddress::Unix(path) = &at {
            let _ = std::fs::remove_file(path);
        }
        let _ = drain.send(true);
        let all_ended = async { while sessions.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(DRAIN, all_ended).await;
        shared.counters.counts()
    }
}

/// The next client, and its address if it has one.
async fn accept(listener: &Listener) -> io::Result<(Stream, Option<String>)> {
    Ok(match listener {
        Listener::Tcp(listener) => {
            let (client, address) = listener.accept().await?;
            client.set_nodelay(true)?;
            (Box::new(client), Some(address.to_string()))
        }
        Listener::Unix(listener) => (Box::new(listener.accept().await?.0), None),
    })
}

async fn serve(
    shared: Arc<ProxyShared>,
    name: Arc<str>,
    mut client: Stream,
    server: ProxyAddress,
    drain: watch::Receiver<bool>,
) {
    use tokio::io::AsyncWriteExt;
    match tokio::time::timeout(PATIENCE, connect(&server)).await {
        Ok(Ok(upstream)) => ProxySession::new(shared, name, client, upstream).run(drain).await,
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
