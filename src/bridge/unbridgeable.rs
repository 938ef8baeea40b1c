//! Why a fleet cannot be bridged, and what shows it.

use std::fmt;

use thiserror::Error;

use crate::wire::Printable;

/// Why a fleet cannot be bridged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unbridgeable {
    /// No dialect was named.
    #[error("no old dialect is named")]
    Nobody,
    /// Its owner and its stamp are in two keys, in two hash slots: no script may touch both in a cluster.
    #[error("{0} keeps owner and stamp in two keys")]
    TwoKeys(&'static str),
    /// Its stamps count the uptime of the machine that wrote them, and mean nothing on another.
    #[error("{0} counts the uptime of its own machine, which nobody else can write")]
    Uptime(&'static str),
    /// Whatever the bridge could write, a dialect takes while it is held.
    #[error("no stamp keeps them all out: {}", listed(.0))]
    NoStamp(Vec<Taken>),
    /// The old clients do not exclude each other: what one of them writes, another takes while it is held.
    #[error("these dialects do not exclude each other, with a bridge or without one: {}", listed(.0))]
    NotExclusive(Vec<Taken>),
}

/// A stamp that somebody takes while its lease is running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// What stands in the key.
    pub value: Vec<u8>,
    /// In whose form.
    pub form_of: &'static str,
    /// Who takes it.
    pub by: &'static str,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} takes {} as {} writes it", self.by, Printable(&self.value), self.form_of)
    }
}

fn listed(taken: &[Taken]) -> String {
    taken.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
