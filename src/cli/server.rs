//! The Redis that was chosen on the command line.

use std::fmt;

use crate::connect;

/// The Redis that was chosen.
#[derive(Clone, Debug)]
pub(super) enum ServerChoice {
    /// One server, a cluster, or the master that sentinels name.
    One(connect::Server),
    /// Several masters that know nothing of each other.
    Masters(Vec<connect::Server>),
}

impl ServerChoice {
    /// Whether connections to it are encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        match self {
            Self::One(server) => server.is_encrypted(),
            Self::Masters(servers) => servers.iter().any(connect::Server::is_encrypted),
        }
    }
}

impl fmt::Display for ServerChoice {
    /// Its addresses, passwords hidden.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(server) => server.fmt(f),
            Self::Masters(servers) => {
                let shown: Vec<_> = servers.iter().map(ToString::to_string).collect();
                f.write_str(&shown.join(","))
            }
        }
    }
}
