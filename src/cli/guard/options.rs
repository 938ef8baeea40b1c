//! What the guard was asked to do, by the command line and by its file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use redis::{ConnectionAddr, ConnectionInfo};

use super::args::Args;
use super::config_file::ConfigFile;
use super::guard_spec::GuardSpec;
use super::mode::GuardMode;
use super::socket_mode::SocketMode;
use crate::cli::exit::{Exit, Failure};
use crate::cli::server_options::{ServerOptions, read};
use crate::guard::Lifetime;
use crate::proxy::{GuardedKeys, ListenTls, ProxyAddress, ProxySettings, Upstream, UpstreamTls};

/// What the guard was asked to do.
pub(super) struct GuardOptions {
    pub(super) listen: ProxyAddress,
    pub(super) listen_mode: Option<SocketMode>,
    pub(super) listen_tls: Option<ListenTlsFiles>,
    guards: Vec<GuardSpec>,
    mode: GuardMode,
    lifetime: Lifetime,
    renew: Option<Duration>,
    pub(super) admin: Option<String>,
    pub(super) events: Option<PathBuf>,
    server: ServerOptions,
}

/// The files with which connections of clients are encrypted.
pub(super) struct ListenTlsFiles {
    cert: PathBuf,
    key: PathBuf,
    client_ca: Option<PathBuf>,
}

impl GuardOptions {
    /// What the command line names, and where it names nothing, its file.
    pub(super) fn of(args: &Args) -> Result<Self, Failure> {
        let file = args.config.as_deref().map(ConfigFile::read).transpose()?.unwrap_or_default();
        let missing = |name: &str| usage(&format!("{name} is neither on the command line nor in the file"));
        let guards = if args.guarded.is_empty() { file.guard } else { args.guarded.clone() };
        if guards.is_empty() {
            return Err(missing("--guard"));
        }
        let cert = args.listen_tls_cert.clone().or(file.listen_tls_cert);
        let key = args.listen_tls_key.clone().or(file.listen_tls_key);
        let client_ca = args.listen_tls_client_ca.clone().or(file.listen_tls_client_ca);
        let listen_tls = match (cert, key, client_ca) {
            (Some(cert), Some(key), client_ca) => Some(ListenTlsFiles { cert, key, client_ca }),
            (None, None, None) => None,
            _ => {
                return Err(usage(
                    "listen-tls-cert and listen-tls-key belong together, and listen-tls-client-ca to them",
                ));
            }
        };
        let options = Self {
            listen: args.listen.clone().or(file.listen).ok_or_else(|| missing("--listen"))?,
            listen_mode: args.listen_mode.or(file.listen_mode),
            listen_tls,
            guards,
            mode: args.mode.or(file.mode).unwrap_or_default(),
            lifetime: if args.no_ttl || file.no_ttl { Lifetime::Endless } else { Lifetime::BeyondStamp },
            renew: args.renew.or(file.renew.map(Into::into)),
            admin: args.admin.clone().or(file.admin),
            events: args.events.clone().or(file.events),
            server: args.server.or(file.redis, [file.tls_ca, file.tls_cert, file.tls_key])?,
        };
        if options.renew.is_some() && options.mode == GuardMode::Observe {
            return Err(usage("an observing guard changes nothing: --renew needs --mode protect or bridge"));
        }
        if options.listen_mode.is_some() && !matches!(options.listen, ProxyAddress::Unix(_)) {
            return Err(usage("listen-mode is of the file of a Unix socket: it needs --listen unix:PATH"));
        }
        Ok(options)
    }

    /// What may change while the guard runs. Each protocol is tried.
    pub(super) fn settings(&self) -> Result<ProxySettings, Failure> {
        let treatments = self.guards.iter().map(|spec| spec.treatment(self.mode, self.lifetime));
        let keys = treatments.collect::<Result<GuardedKeys, _>>()?;
        let tls = self.listen_tls.as_ref().map(ListenTlsFiles::load).transpose()?;
        Ok(ProxySettings { keys, renew_for: self.renew, tls })
    }

    /// Its guards, as they are written, and their mode.
    pub(super) fn described(&self) -> String {
        let guards: Vec<_> = self.guards.iter().map(ToString::to_string).collect();
        format!("{} (mode {})", guards.join(" "), self.mode.name())
    }

    /// The options that cannot change while the guard runs and are not the same.
    pub(super) fn fixed_that_differ(&self, other: &Self) -> impl Iterator<Item = &'static str> {
        let differ = [
            ("listen", self.listen != other.listen),
            ("listen-mode", self.listen_mode != other.listen_mode),
            ("listen-tls-cert", self.listen_tls.is_some() != other.listen_tls.is_some()),
            ("redis", self.server != other.server),
            ("admin", self.admin != other.admin),
            ("events", self.events != other.events),
        ];
        differ.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name)
    }

    /// Where clients are connected to.
    pub(super) fn upstream(&self) -> Result<Upstream, Failure> {
        let server = self.server.server()?;
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
        let at =
            |host: &str, port| if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        match info.addr() {
            ConnectionAddr::Tcp(host, port) => Ok(Upstream::Plain(ProxyAddress::Tcp(at(host, *port)))),
            ConnectionAddr::Unix(path) => Ok(Upstream::Plain(ProxyAddress::Unix(path.clone()))),
            ConnectionAddr::TcpTls { host, port, insecure: false, .. } => {
                let tls = UpstreamTls::new(host, &self.server.certificates()?);
                let tls = tls.map_err(|error| usage(&format!("--tls-ca, --tls-cert, --tls-key: {error}")))?;
                Ok(Upstream::Encrypted(at(host, *port), tls))
            }
            _ => {
                Err(usage("the guard verifies its server: leave `#insecure` out, and name its authority with --tls-ca"))
            }
        }
    }
}

impl ListenTlsFiles {
    fn load(&self) -> Result<ListenTls, Failure> {
        let client_ca = self.client_ca.as_deref().map(read).transpose()?;
        let [cert, key] = [&self.cert, &self.key].map(|path: &PathBuf| read(Path::new(path)));
        ListenTls::new(&cert?, &key?, client_ca.as_deref()).map_err(|error| {
            usage(&format!(
                "--listen-tls-cert {}, --listen-tls-key, --listen-tls-client-ca: {error}",
                self.cert.display()
            ))
        })
    }
}

fn usage(sentence: &str) -> Failure {
    Failure::new(Exit::Usage, sentence)
}
