//! Why a fleet cannot be bridged, with the values that show it.

use std::fmt;

use thiserror::Error;

use crate::wire::Printable;

/// Why a fleet cannot be bridged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unbridgeable {
    /// No dialect was named.
    #[error("no old dialect is named")]
    EmptyFleet,
    /// Its owner and its stamp are in two keys, in two hash slots: a script cannot use both in a cluster.
    #[error("{0} keeps owner and stamp in two keys")]
    TwoKeys(&'static str),
    /// Its stamps count the uptime of the machine that wrote them, and mean nothing on another.
    #[error("{0} counts the uptime of its own machine, which no other client can write")]
    Uptime(&'static str),
    /// For every stamp that the bridge could write, there is a dialect that takes it over while it is held.
    #[error("no stamp keeps them all out: {}", listed(.0))]
    NoStamp(Vec<StolenStamp>),
    /// The old clients do not exclude each other: one of them takes over a lock of another while it is held.
    #[error("these dialects do not exclude each other, with a bridge or without one: {}", listed(.0))]
    NotExclusive(Vec<StolenStamp>),
}

/// A stamp that a dialect takes over while its lease is running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StolenStamp {
    /// The value of the key.
    pub value: Vec<u8>,
    /// The dialect in whose form it is written, or `token`.
    pub form_of: &'static str,
    /// The dialect that takes it over.
    pub by: &'static str,
}

impl fmt::Display for StolenStamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} takes {} as {} writes it", self.by, Printable(&self.value), self.form_of)
    }
}

fn listed(stolen: &[StolenStamp]) -> String {
    stolen.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
