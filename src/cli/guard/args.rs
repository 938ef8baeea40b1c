//! The options of `guard`, as they are typed.

use std::path::PathBuf;
use std::time::Duration;

use super::guard_spec::GuardSpec;
use super::mode::GuardMode;
use super::socket_mode::SocketMode;
use crate::cli::server_options::ServerOptions;
use crate::proxy::ProxyAddress;

/// Run a proxy beside old clients that makes them as safe as their protocol can be made, without a change to them
///
/// Point the clients at --listen instead of the server. Everything that is not a lock's command on a guarded key passes
/// through byte for byte. On a guarded key the guard decides, atomically on the server, whether the client acquires the
/// lock; it writes a stamp of its own and answers so that the client's own code reaches that decision at any clock. A
/// client deletes and expires its own lock only.
///
/// Run it on the host of its clients: it reads the length of their leases from their stamps, by the host's clock. Each
/// client needs a connection of its own while it holds a lock.
///
/// A protocol that cannot be guarded is refused with the reason.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A TOML file with these options by the same names, those of the command line before it; read again on SIGHUP
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Where clients connect: HOST:PORT, or unix:PATH
    #[arg(long, value_name = "ADDRESS", required_unless_present = "config")]
    pub(super) listen: Option<ProxyAddress>,
    /// The permissions of the file of a Unix socket, in octal, as 0660: its writers may connect
    #[arg(long, value_name = "MODE")]
    pub(super) listen_mode: Option<SocketMode>,
    /// Encrypt the connections of clients, with this certificate and its chain: a PEM file; read again on SIGHUP
    #[arg(long, value_name = "FILE", requires = "listen_tls_key")]
    pub(super) listen_tls_cert: Option<PathBuf>,
    /// The key of --listen-tls-cert
    #[arg(long, value_name = "FILE", requires = "listen_tls_cert")]
    pub(super) listen_tls_key: Option<PathBuf>,
    /// Accept only clients with a certificate of one of these authorities: a PEM file
    #[arg(long, value_name = "FILE", requires = "listen_tls_cert")]
    pub(super) listen_tls_client_ca: Option<PathBuf>,
    /// Keys to guard, as KEYS takes patterns, and the protocols of their clients
    #[arg(long = "guard", required_unless_present = "config", value_name = "PATTERN=PROTOCOL[,PROTOCOL]")]
    pub(super) guarded: Vec<GuardSpec>,
    /// What the guard does: protect, if nothing is named
    #[arg(long, value_enum)]
    pub(super) mode: Option<GuardMode>,
    /// Give guarded keys no time to live; without it they live a second longer than their holder relies on them
    #[arg(long)]
    pub(super) no_ttl: bool,
    /// Extend each lock while the connection of its client lives, for at most this long after it was acquired
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(super) renew: Option<Duration>,
    /// Answer GET /metrics (OpenMetrics), GET /status (JSON) and GET /healthz at this HOST:PORT
    #[arg(long, value_name = "ADDRESS")]
    pub(super) admin: Option<String>,
    /// Append what happens to locks to this file, one JSON object a line, as it happens; `audit` reads what was observed;
    /// opened again on SIGHUP. A new file can be read by its owner only
    #[arg(long, value_name = "FILE")]
    pub(super) events: Option<PathBuf>,
    #[command(flatten)]
    pub(super) server: ServerOptions,
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift guard --listen 127.0.0.1:6380 --redis redis://10.0.0.5/ --guard 'lock:*=php-getset'
  lockshift guard --listen unix:/run/guard.sock --guard 'job:*=jedis-lock,npm-redis-lock' --no-ttl
  lockshift guard --config /etc/lockshift/guard.toml";
