//! `lockshift guard`: a proxy beside old clients.

use std::fmt;
use std::io::Write;
use std::str::FromStr;
use std::sync::Arc;

use redis::{ConnectionAddr, ConnectionInfo};
use tokio::signal::unix::{SignalKind, signal};

use super::exit::{Exit, Failure};
use super::global_options::GlobalOptions;
use super::output;
use super::server_options::ServerOptions;
use crate::guard::{Lifetime, Rule};
use crate::protocols;
use crate::proxy::{Address, Counts, GuardedKeys, bind};
use crate::report::Guarded;

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
    listen: Address,
    /// Keys to guard, as KEYS takes patterns, and the protocols of their clients
    #[arg(long = "guard", required = true, value_name = "PATTERN=PROTOCOL[,PROTOCOL]")]
    guarded: Vec<GuardSpec>,
    /// What the guard does
    #[arg(long, value_enum, default_value_t = Mode::Protect)]
    mode: Mode,
    /// Give guarded keys no time to live; without it they live a second longer than their holder relies on them
    #[arg(long)]
    no_ttl: bool,
    #[command(flatten)]
    server: ServerOptions,
}

/// What the guard does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Mode {
    /// It decides who acquires; clients without a guard may share the keys
    Protect,
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
    fn rule(&self, lifetime: Lifetime) -> Result<(Vec<u8>, Arc<Rule>), Failure> {
        let refused =
            |because: &dyn fmt::Display| Failure::new(Exit::Usage, format_args!("cannot guard {self}: {because}"));
        let dialects: Vec<_> = self
            .protocols
            .iter()
            .map(|protocol| {
                protocol.dialect().ok_or_else(|| refused(&format_args!("{} is not an old dialect", protocol.name())))
            })
            .collect::<Result<_, _>>()?;
        let rule = Rule::new(&dialects, lifetime).map_err(|because| refused(&because))?;
        Ok((self.pattern.clone().into_bytes(), Arc::new(rule)))
    }
}

/// Runs the proxy until it is asked to end.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    let Mode::Protect = args.mode;
    let lifetime = if args.no_ttl { Lifetime::Endless } else { Lifetime::BeyondStamp };
    let keys: GuardedKeys = args.guarded.iter().map(|spec| spec.rule(lifetime)).collect::<Result<_, _>>()?;
    let server = upstream(&args.server)?;
    let failed = |error: &dyn fmt::Display| Failure::new(Exit::Unusable, error);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| failed(&error))?;
    let counts = runtime.block_on(serve(args, server, keys))?;
    output::print(&Guarded(counts), global)?;
    Ok(Exit::Yes)
}

async fn serve(args: &Args, server: Address, keys: GuardedKeys) -> Result<Counts, Failure> {
    let unusable =
        |error: std::io::Error| Failure::new(Exit::Unusable, format_args!("cannot listen on {}: {error}", args.listen));
    let guard = bind(&args.listen, server, keys).await.map_err(unusable)?;
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
fn upstream(options: &ServerOptions) -> Result<Address, Failure> {
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
        ConnectionAddr::Tcp(host, port) if host.contains(':') => Ok(Address::Tcp(format!("[{host}]:{port}"))),
        ConnectionAddr::Tcp(host, port) => Ok(Address::Tcp(format!("{host}:{port}"))),
        ConnectionAddr::Unix(path) => Ok(Address::Unix(path.clone())),
        _ => Err(usage("the guard does not support rediss:// yet: name a redis:// or redis+unix:// address")),
    }
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift guard --listen 127.0.0.1:6380 --redis redis://10.0.0.5/ --guard 'lock:*=php-getset'
  lockshift guard --listen unix:/run/guard.sock --guard 'job:*=jedis-lock,npm-redis-lock' --no-ttl";
