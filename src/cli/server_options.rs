//! Which Redis to use: the options of the subcommands that use one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use redis::{ClientTlsConfig, TlsCertificates};

use super::exit::{Exit, Failure};
use super::os_error;
use super::password_file::PasswordFile;
use super::server::ServerChoice;
use crate::connect::{self, InvalidAddress};

/// How long a server may take to accept a connection, and to answer one command.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which Redis to use.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = "Server")]
pub(super) struct ServerOptions {
    /// The Redis to use: redis://, rediss://, redis+unix:// or redis+sentinel://HOST[,HOST...]/NAME; several of them, or
    /// ?cluster=true, for a cluster (for `run --protocol redlock`: for as many independent masters)
    #[arg(long, value_name = "URL", env = "REDIS_URL", hide_env_values = true)]
    redis: Vec<String>,
    /// The user to log in as, in place of the one in the address
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// A file with the password to log in with, in place of the one in the address; a line feed at its end is left out. It is
    /// read again for each new connection
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// The authority to trust for rediss:// instead of the system's: a PEM file
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// The certificate to present for rediss://, and with --tls-key its key: PEM files
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of --tls-cert
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

impl ServerOptions {
    /// The independent masters that were chosen.
    pub(super) fn masters(&self) -> Result<ServerChoice, Failure> {
        let servers = self.each()?;
        match servers.iter().find(|server| !server.is_single()) {
            Some(server) if server.is_cluster() => Err(misnamed(format_args!(
                "{server} is a node of a cluster: this lock needs masters that know nothing of each other"
            ))),
            Some(server) => Err(misnamed(format_args!(
                "{server} names a master by its sentinels: this lock needs the addresses of its masters"
            ))),
            None if servers.is_empty() => Err(unnamed()),
            None => Ok(ServerChoice::Masters(servers)),
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

    /// The same, with this address and these files of the authority, the certificate and its key where none are named.
    pub(super) fn or(&self, redis: Option<String>, [ca, cert, key]: [Option<PathBuf>; 3]) -> Result<Self, Failure> {
        let mut all = self.clone();
        if all.named().is_empty() {
            all.redis = redis.into_iter().collect();
        }
        all.tls_ca = all.tls_ca.or(ca);
        if all.tls_cert.is_none() {
            (all.tls_cert, all.tls_key) = (cert, key);
        }
        if all.tls_cert.is_some() != all.tls_key.is_some() {
            return Err(misnamed("tls-cert and tls-key belong together"));
        }
        Ok(all)
    }

    /// The certificates for rediss:// that its files contain.
    pub(super) fn certificates(&self) -> Result<TlsCertificates, Failure> {
        let client_tls = match (&self.tls_cert, &self.tls_key) {
            (Some(cert), Some(key)) => Some(ClientTlsConfig { client_cert: read(cert)?, client_key: read(key)? }),
            _ => None,
        };
        Ok(TlsCertificates { client_tls, root_cert: self.tls_ca.as_deref().map(read).transpose()? })
    }

    /// The addresses that were named. An environment variable that is set to nothing counts as unset.
    fn named(&self) -> Vec<String> {
        self.redis.iter().filter(|address| !address.is_empty()).cloned().collect()
    }

    fn each(&self) -> Result<Vec<connect::Server>, Failure> {
        let servers = connect::Server::each(self.named()).map_err(invalid)?;
        servers.into_iter().map(|server| self.prepared(server)).collect()
    }

    /// The same server, with the timeouts, the login and the certificates of the command.
    fn prepared(&self, server: connect::Server) -> Result<connect::Server, Failure> {
        let server = server.connecting_within(PATIENCE).answering_within(PATIENCE);
        let server = server.logging_in(self.user.as_deref(), None);
        let server = match self.password_file.as_deref().map(PasswordFile::open).transpose()? {
            None => server,
            Some(file) => server.asking_for_password(move || file.password()),
        };
        let certificates = self.certificates()?;
        let server = if certificates.client_tls.is_none() && certificates.root_cert.is_none() {
            server
        } else {
            let refused = |error| misnamed(format_args!("--tls-ca, --tls-cert, --tls-key: {error}"));
            server.trusting(&certificates).map_err(refused)?
        };
        match server.unencrypted_port() {
            None => Ok(server),
            Some(address) => Err(Failure::new(
                Exit::Unusable,
                format_args!(
                    "{server}: {address} does not speak TLS: use redis://, or the port of the server's `tls-port`"
                ),
            )),
        }
    }
}

/// What is in a file that an option names.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path)
        .map_err(|error| misnamed(format_args!("cannot read `{}`: {}", path.display(), os_error::sentence(&error))))
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
