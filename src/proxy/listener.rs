//! Accepts clients, and ends in order.

use std::io;
use std::net;
use std::num::NonZero;
use std::os::unix;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::address::{ProxyAddress, Upstream, keep_alive};
use super::admin;
use super::counters::{ProxyCounters, ProxyCounts};
use super::event::EventSink;
use super::server_refusal::ServerRefusal;
use super::serving_threads::{ServingPlace, ServingThreads};
use super::session::ProxySession;
use super::settings::{ProxySettings, SettingsHandle};
use super::shared::ProxyShared;
use super::stream::Stream;
use super::tls::ListenTls;

enum Listener {
    Tcp(TcpListener),
    /// With the device and number of its file.
    Unix(UnixListener, Option<(u64, u64)>),
}

/// A proxy that listens and accepts no client yet.
pub struct GuardProxy {
    listener: Listener,
    at: ProxyAddress,
    server: Upstream,
    shared: ProxyShared,
    admin: Option<TcpListener>,
    threads: Option<ServingThreads>,
}

/// How long the server may take to accept a connection, and a client to agree on encryption.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long open commands may take when the proxy ends.
const DRAIN: Duration = Duration::from_secs(10);

/// Begins to listen. Each client connection will have a connection of its own to `server`. The file of a Unix socket that
/// no process listens on any more is replaced.
///
/// # Errors
/// The address cannot be listened on.
pub async fn bind(listen: &ProxyAddress, server: Upstream, settings: ProxySettings) -> io::Result<GuardProxy> {
    let (listener, at) = match listen {
        ProxyAddress::Tcp(address) => {
            let listener = TcpListener::bind(address).await?;
            let at = ProxyAddress::Tcp(listener.local_addr()?.to_string());
            (Listener::Tcp(listener), at)
        }
        ProxyAddress::Unix(path) => {
            // A file that is no socket refuses connections as well.
            let is_socket = || std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
            let is_abandoned = async || {
                is_socket()
                    && UnixStream::connect(path)
                        .await
                        .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
            };
            let listener = match UnixListener::bind(path) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_abandoned().await => {
                    std::fs::remove_file(path)?;
                    UnixListener::bind(path)
                }
                bound => bound,
            };
            (Listener::Unix(listener?, identity(path)), listen.clone())
        }
    };
    let shared = ProxyShared::new(settings);
    Ok(GuardProxy { listener, at, server, shared, admin: None, threads: None })
}

impl GuardProxy {
    /// Where it listens.
    pub fn address(&self) -> &ProxyAddress {
        &self.at
    }

    /// The same, with these permissions (as `0o660`) of the file of its Unix socket, which decide who can connect; without this
    /// they follow from the umask.
    ///
    /// # Errors
    /// They cannot be set.
    pub fn permitting(self, mode: u32) -> io::Result<Self> {
        if let ProxyAddress::Unix(path) = &self.at {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
        }
        Ok(self)
    }

    /// What it counts.
    pub fn counters(&self) -> Arc<ProxyCounters> {
        Arc::clone(&self.shared.counters)
    }

    /// Replaces its settings while it runs.
    pub fn settings(&self) -> SettingsHandle {
        SettingsHandle { settings: self.shared.settings.clone(), counters: self.counters() }
    }

    /// The same, answering `GET /metrics` (OpenMetrics), `GET /status` (JSON, with the feature `cli`) and `GET /healthz` at this address, `HOST:PORT`.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub async fn administered_at(mut self, address: &str) -> io::Result<Self> {
        self.admin = Some(TcpListener::bind(address).await?);
        Ok(self)
    }

    /// The same, serving its clients on so many threads of its own: the fastest way where the proxy is all that a process
    /// does. Otherwise the runtime that runs it serves them.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn on_threads(mut self, threads: NonZero<usize>) -> io::Result<Self> {
        self.threads = Some(ServingThreads::start(threads)?);
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
        let Self { listener, at, server, shared, admin, threads } = self;
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
                        let place = threads.as_ref().map_or_else(ServingPlace::here, ServingThreads::least_busy);
                        let runtime = place.runtime.clone();
                        let session = serve(Arc::clone(&shared), name, client, server.clone(), draining.clone(), place);
                        sessions.spawn_on(session, &runtime);
                    }
                    Err(error) => {
                        // At a limit every attempt fails, ten times a second.
                        if shared.may_warn("accept") {
                            log::warn!(target: "lockshift::guard", "cannot accept a client: {}", limited(&error));
                        }
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
                Some(_) = sessions.join_next() => {}
            }
        }
        // Another proxy may listen there by now.
        if let (ProxyAddress::Unix(path), Listener::Unix(_, own)) = (&at, &listener)
            && identity(path) == *own
        {
            let _ = std::fs::remove_file(path);
        }
        drop(listener);
        let _ = drain.send(true);
        let all_ended = async { while sessions.join_next().await.is_some() {} };
        let _ = timeout(DRAIN, all_ended).await;
        shared.counts()
    }
}

/// The device and number of a file.
fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::symlink_metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// What went wrong, and at the limit of open files what to do.
fn limited(error: &io::Error) -> String {
    if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) {
        return "the limit of open files is reached, and each client needs two: raise `ulimit -n`, or LimitNOFILE= of the \
                systemd unit"
            .to_owned();
    }
    error.to_string()
}

/// A client that has connected, on no runtime yet.
enum Accepted {
    Tcp(net::TcpStream),
    Unix(unix::net::UnixStream),
}

/// Serves one client on this stream, with a connection to its server, until either ends: over another transport than a
/// socket. Returns what was counted.
pub async fn serve_streams<C, S>(client: C, server: S, settings: ProxySettings) -> ProxyCounts
where
    C: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let shared = Arc::new(ProxyShared::new(settings));
    let (_drain, draining) = watch::channel(false);
    let (client, server) = (Stream::new(client), Stream::new(server));
    ProxySession::new(Arc::clone(&shared), "client".into(), client, server).run(draining).await;
    shared.counters.counts()
}

/// The next client, and its address if it has one.
async fn accept(listener: &Listener) -> io::Result<(Accepted, Option<String>)> {
    Ok(match listener {
        Listener::Tcp(listener) => {
            let (client, address) = listener.accept().await?;
            client.set_nodelay(true)?;
            keep_alive(&client)?;
            (Accepted::Tcp(client.into_std()?), Some(address.to_string()))
        }
        Listener::Unix(listener, _) => (Accepted::Unix(listener.accept().await?.0.into_std()?), None),
    })
}

impl Accepted {
    /// Its stream on the runtime of the caller, encrypted if clients' connections are.
    async fn stream(self, tls: Option<&ListenTls>) -> io::Result<Stream> {
        match (self, tls) {
            (Self::Tcp(client), None) => Ok(Stream::new(TcpStream::from_std(client)?)),
            (Self::Unix(client), None) => Ok(Stream::new(UnixStream::from_std(client)?)),
            (Self::Tcp(client), Some(tls)) => tls.accept(TcpStream::from_std(client)?).await,
            (Self::Unix(client), Some(tls)) => tls.accept(UnixStream::from_std(client)?).await,
        }
    }
}

async fn serve(
    shared: Arc<ProxyShared>,
    name: Arc<str>,
    client: Accepted,
    server: Upstream,
    drain: watch::Receiver<bool>,
    _place: ServingPlace,
) {
    let tls = shared.settings.borrow().tls.clone();
    let mut client = match timeout(PATIENCE, client.stream(tls.as_ref())).await {
        Ok(Ok(client)) => client,
        Ok(Err(error)) => return log::warn!(target: "lockshift::guard", "{name}: TLS handshake failed: {error}"),
        Err(_) => return log::warn!(target: "lockshift::guard", "{name}: no TLS handshake within {PATIENCE:?}"),
    };
    let (answer, because) = match timeout(PATIENCE, server.connect()).await {
        Ok(Ok(upstream)) => return ProxySession::new(shared, name, client, upstream).run(drain).await,
        Ok(Err(error)) => ("-ERR lockshift guard: cannot connect to the server\r\n", limited(&error)),
        Err(_) => {
            ("-ERR lockshift guard: the server does not answer\r\n", format!("it did not accept within {PATIENCE:?}"))
        }
    };
    let refusal = ServerRefusal::Unreachable;
    shared.counters.refused_by_server(&refusal);
    if shared.may_warn(refusal.name()) {
        log::warn!(target: "lockshift::guard", "cannot connect to {server}: {because}");
    }
    let _ = client.deliver(&mut answer.as_bytes().to_vec()).await;
    let _ = client.end().await;
}
