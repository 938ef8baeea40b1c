//! What every subcommand understands.

use std::path::{Path, PathBuf};
use std::time::Duration;

use redis::{ClientTlsConfig, TlsCertificates};

use super::exit::{Exit, Failure};
use super::server::Server;
use crate::connect::{self, InvalidAddress};

/// How long a server may take to accept a connection, and to answer one command.
const PATIENCE: Duration = Duration::from_secs(5);

/// What every subcommand understands.
#[derive(Debug, clap::Args)]
pub(super) struct GlobalOptions {
    /// The Redis to use: redis://, rediss://, redis+unix:// or redis+sentinel://HOST[,HOST...]/NAME; several of them, or
    /// ?cluster=true, for a cluster (for `run --protocol redlock`: for as many independent masters)
    #[arg(long, global = true, value_name = "URL", env = "REDIS_URL", hide_env_values = true)]
    redis: Vec<String>,
    /// The authority to trust for rediss:// instead of the system's: a PEM file
    #[arg(long, global = true, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// The certificate to present for rediss://, and with --tls-key its key: PEM files
    #[arg(long, global = true, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of --tls-cert
    #[arg(long, global = true, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
}

impl GlobalOptions {
    /// The independent masters that were chosen.
    pub(super) fn masters(&self) -> Result<Server, Failure> {
        let servers = self.each()?;
        match servers.iter().find(|server| !server.is_single()) {
            Some(server) if server.is_cluster() => Err(misnamed(format_args!(
                "{server} is a node of a cluster: this lock needs masters that know nothing of each other"
            ))),
            Some(server) => Err(misnamed(format_args!(
                "{server} names a master by its sentinels: this lock needs the addresses of its masters"
            ))),
            None if servers.is_empty() => Err(unnamed()),
            None => Ok(Server::Masters(servers)),
        }
    }

    /// The Redis that was chosen.
    pub(super) fn server(&self) -> Result<connect::Server, Failure> {
        let named = self.named();
        if named.is_empty() {
            return Err(unnamed());
        }
        self.prepared(connect::Server::at(&named).map_err(invalid)?)
    }

    /// Where several addresses are several independent servers: those. They are one cluster if one of them says so.
    pub(super) fn servers(&self) -> Result<Vec<connect::Server>, Failure> {
        let servers = self.each()?;
        if servers.is_empty() || servers.iter().any(connect::Server::is_cluster) {
            return Ok(vec![self.server()?]);
        }
        Ok(servers)
    }

    /// The addresses that were named. An environment variable that is set to nothing counts as unset.
    fn named(&self) -> Vec<String> {
        self.redis.iter().filter(|address| !address.is_empty()).cloned().collect()
    }

    fn each(&self) -> Result<Vec<connect::Server>, Failure> {
        let servers = connect::Server::each(self.named()).map_err(invalid)?;
        servers.into_iter().map(|server| self.prepared(server)).collect()
    }

    /// The same server, with the timeouts and certificates of the command.
    fn prepared(&self, server: connect::Server) -> Result<connect::Server, Failure> {
        let server = server.connecting_within(PATIENCE).answering_within(PATIENCE);
        let read = |path: &Path| {
            std::fs::read(path).map_err(|error| misnamed(format_args!("cannot read `{}`: {error}", path.display())))
        };
        let client_tls = match (&self.tls_cert, &self.tls_key) {
            (Some(cert), Some(key)) => Some(ClientTlsConfig { client_cert: read(cert)?, client_key: read(key)? }),
            _ => None,
        };
        let root_cert = self.tls_ca.as_deref().map(read).transpose()?;
        if client_tls.is_none() && root_cert.is_none() {
            return Ok(server);
        }
        let refused = |error| misnamed(format_args!("--tls-ca, --tls-cert, --tls-key: {error}"));
        server.trusting(&TlsCertificates { client_tls, root_cert }).map_err(refused)
    }
}

fn unnamed() -> Failure {
    misnamed("which Redis? Name it with --redis redis://127.0.0.1:6379 or in the environment variable REDIS_URL")
}

fn invalid(address: InvalidAddress) -> Failure {
    misnamed(address)
}

fn misnamed(sentence: impl ToString) -> Failure {
    Failure::new(Exit::Usage, sentence)
}
