//! `lockshift guard`: a proxy beside old clients.

pub(super) mod event_line;
mod event_log;

use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use redis::{ConnectionAddr, ConnectionInfo};
use tokio::signal::unix::{SignalKind, signal};

use self::event_log::EventLog;
use super::exit::{Exit, Failure};
use super::global_options::GlobalOptions;
use super::os_error;
use super::output;
use super::server_options::ServerOptions;
use crate::guard::{Lifetime, Rule};
use crate::protocols;
use crate::proxy::{GuardedKeys, ProxyAddress, ProxyCounts, Treatment, bind};
use crate::report::GuardStatistics;

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
pub(super) struct Args {
    /// Where clients connect: HOST:PORT, or unix:PATH
    #[arg(long, value_name = "ADDRESS")]
    listen: ProxyAddress,
    /// Keys to guard, as KEYS takes patterns, and the protocols of their clients
    #[arg(long = "guard", required = true, value_name = "PATTERN=PROTOCOL[,PROTOCOL]")]
    guarded: Vec<GuardSpec>,
    /// What the guard does
    #[arg(long, value_enum, default_value_t = GuardMode::Protect)]
    mode: GuardMode,
    /// Give guarded keys no time to live; without it they live a second longer than their holder relies on them
    #[arg(long)]
    no_ttl: bool,
    /// Extend each lock while the connection of its client lives, for at most this long after it was acquired
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    renew: Option<Duration>,
    /// Answer GET /metrics (OpenMetrics) and GET /healthz at this HOST:PORT
    #[arg(long, value_name = "ADDRESS")]
    admin: Option<String>,
    /// Append what happens to locks to this file, one JSON object a line, as it happens; `audit` reads what was observed
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    #[command(flatten)]
    server: ServerOptions,
}

/// What the guard does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum GuardMode {
    /// It changes nothing, and reports the commands and their replies: for these protocols or any other
    Observe,
    /// It decides which client acquires; clients without a guard may share the keys
    Protect,
    /// The same, and it holds the new key `{key}:token` as a bridge does: clients of new locks may share the lock
    Bridge,
}

/// Keys to guard, and how.
#[derive(Clone, Debug)]
struct GuardSpec {
    pattern: String,
    protocols: Vec<protocols::Protocol>,
}

impl FromStr for GuardSpec {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let (pattern, names) = written.rsplit_once('=').ok_or("expected PATTERN=PROTOCOL, as in lock:*=php-getset")?;
        let found = names.split(',').map(|name| protocols::find(name).map_err(|error| error.to_string()));
        Ok(Self { pattern: pattern.to_owned(), protocols: found.collect::<Result<_, _>>()? })
    }
}

impl fmt::Display for GuardSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.protocols.iter().map(|protocol| protocol.name()).collect();
        write!(f, "{}={}", self.pattern, names.join(","))
    }
}

impl GuardSpec {
    fn treatment(&self, args: &Args) -> Result<(Vec<u8>, Treatment), Failure> {
        let pattern = self.pattern.clone().into_bytes();
        if args.mode == GuardMode::Observe {
            return Ok((pattern, Treatment::Observe));
        }
        let refused =
            |because: &dyn fmt::Display| Failure::new(Exit::Usage, format_args!("cannot guard {self}: {because}"));
        let lifetime = if args.no_ttl { Lifetime::Endless } else { Lifetime::BeyondStamp };
        let dialects: Vec<_> = self
            .protocols
            .iter()
            .map(|protocol| {
                protocol.dialect().ok_or_else(|| refused(&format_args!("{} is not an old dialect", protocol.name())))
            })
            .collect::<Result<_, _>>()?;
        let rule = Rule::new(&dialects, lifetime).and_then(|rule| match args.mode {
            GuardMode::Observe | GuardMode::Protect => Ok(rule),
            GuardMode::Bridge => rule.bridged(),
        });
        let rule = rule.map_err(|because| refused(&because))?;
        Ok((pattern, Treatment::Decide(Arc::new(rule))))
    }
}

/// Runs the proxy until it is asked to end.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    let keys: GuardedKeys = args.guarded.iter().map(|spec| spec.treatment(args)).collect::<Result<_, _>>()?;
    if args.renew.is_some() && args.mode == GuardMode::Observe {
        return Err(Failure::new(
            Exit::Usage,
            "an observing guard changes nothing: --renew needs --mode protect or bridge",
        ));
    }
    let server = upstream(&args.server)?;
    let log = args.events.as_ref().map(open_log).transpose()?.map(Arc::new);
    let failed = |error: &dyn fmt::Display| Failure::new(Exit::Unusable, error);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| failed(&error))?;
    let counts = runtime.block_on(serve(args, server, keys, log.clone()))?;
    output::print(&GuardStatistics(counts), global)?;
    match log.and_then(|log| log.failure()) {
        Some(error) => Err(failed(&format_args!("the events are incomplete: {}", os_error::sentence(&error)))),
        None => Ok(Exit::Yes),
    }
}

/// Opens the file of events for appending.
fn open_log(path: &PathBuf) -> Result<EventLog, Failure> {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    let unusable = |error| {
        Failure::new(Exit::Unusable, format_args!("cannot write {}: {}", path.display(), os_error::sentence(&error)))
    };
    Ok(EventLog::to(opened.map_err(unusable)?))
}

async fn serve(
    args: &Args,
    server: ProxyAddress,
    keys: GuardedKeys,
    log: Option<Arc<EventLog>>,
) -> Result<ProxyCounts, Failure> {
    let unusable =
        |error: std::io::Error| Failure::new(Exit::Unusable, format_args!("cannot listen on {}: {error}", args.listen));
    let mut guard = bind(&args.listen, server, keys).await.map_err(unusable)?;
    if let Some(address) = &args.admin {
        let unusable = |error| Failure::new(Exit::Unusable, format_args!("cannot listen on {address}: {error}"));
        guard = guard.administered_at(address).await.map_err(unusable)?;
    }
    if let Some(most) = args.renew {
        guard = guard.renewing_for(most);
    }
    if let Some(log) = log {
        guard = guard.reporting_to(Arc::new(move |event| log.add(event)));
    }
    let mut terminate = signal(SignalKind::terminate()).map_err(unusable)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(unusable)?;
    // To standard error: standard output is for the counts.
    let _ = writeln!(std::io::stderr(), "lockshift guard: listening on {}", guard.address());
    let end = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    Ok(guard.run(end).await)
}

/// Where clients are connected to.
fn upstream(options: &ServerOptions) -> Result<ProxyAddress, Failure> {
    let usage = |sentence: &str| Failure::new(Exit::Usage, sentence);
    let server = options.server()?;
    if server.is_cluster() || !server.is_single() {
        return Err(usage("a guard stands before one server: name it with --redis redis://HOST:PORT"));
    }
    let client = server.client().map_err(|error| Failure::new(Exit::Usage, error))?;
    let info: &ConnectionInfo = client.get_connection_info();
    let settings = info.redis_settings();
    if settings.username().is_some() || settings.password().is_some() || settings.db() != 0 {
        return Err(usage(
            "the guard's --redis has no user, password or database: each client sends its own AUTH and SELECT",
        ));
    }
    match info.addr() {
        ConnectionAddr::Tcp(host, port) if host.contains(':') => Ok(ProxyAddress::Tcp(format!("[{host}]:{port}"))),
        ConnectionAddr::Tcp(host, port) => Ok(ProxyAddress::Tcp(format!("{host}:{port}"))),
        ConnectionAddr::Unix(path) => Ok(ProxyAddress::Unix(path.clone())),
        _ => Err(usage("the guard does not support rediss:// yet: name a redis:// or redis+unix:// address")),
    }
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift guard --listen 127.0.0.1:6380 --redis redis://10.0.0.5/ --guard 'lock:*=php-getset'
  lockshift guard --listen unix:/run/guard.sock --guard 'job:*=jedis-lock,npm-redis-lock' --no-ttl";
