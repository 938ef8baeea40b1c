//! Why a client has no server: that cannot be reached, or it ends the connection before it has answered.

use std::fmt;

use super::stream::{Stream, StreamEnd};
use crate::connect::{ClientCertificate, TlsAlert};

/// Why a client has no server.
#[derive(Debug)]
pub(super) enum ServerRefusal {
    /// No connection could be made.
    Unreachable,
    /// The server has sent this TLS alert: with version 1.3 it judges the guard's certificate after the handshake.
    Alert(TlsAlert),
    /// The server has ended the connection before its first reply, in this way.
    Ended(String),
}

impl ServerRefusal {
    /// Why the server has ended this connection, if it has refused it by that. A connection on which nothing was sent may end.
    pub(super) fn of(server: &Stream) -> Option<Self> {
        match server.ended()? {
            StreamEnd { alert: Some(alert), .. } => Some(Self::Alert(*alert)),
            StreamEnd { alert: None, how } if server.received() == 0 && server.written() > 0 => {
                Some(Self::Ended(how.clone()))
            }
            StreamEnd { alert: None, .. } => None,
        }
    }

    /// The name under which it is counted.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Unreachable => UNREACHABLE,
            Self::Alert(alert) => alert.name(),
            Self::Ended(_) => ENDED,
        }
    }

    /// All names under which one may be counted.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        [UNREACHABLE, ENDED].into_iter().chain(TlsAlert::names())
    }
}

const UNREACHABLE: &str = "unreachable";
const ENDED: &str = "ended";

impl fmt::Display for ServerRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable => f.write_str("the server cannot be reached"),
            Self::Alert(alert) => {
                let remedy = match alert.on_certificate() {
                    ClientCertificate::NotConcerned => "see its log",
                    ClientCertificate::Missing | ClientCertificate::Refused | ClientCertificate::MaybeMissing => {
                        "see --tls-cert and --tls-key"
                    }
                };
                write!(f, "the server refuses the connection by the TLS alert {}: {remedy}", alert.name())
            }
            Self::Ended(how) => write!(f, "the server has ended the connection before its first reply: {how}"),
        }
    }
}
