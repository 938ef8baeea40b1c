//! Which protocol a client speaks.

use std::sync::Arc;

use super::flawed::{FractionalLease, Polled};
use super::quorum::{Quorum, SERVERS};
use crate::legacy::{Dialect, Lock};
use crate::lock::{Lease, Locker, Mode};
use crate::protocols::Choice;
use crate::wire::Key;

/// Which protocol a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RaceProtocol {
    /// An old one: a row of the catalogue.
    Dialect(&'static Dialect),
    /// An old one that extends its lock as the old client does.
    Refreshing(&'static Dialect),
    /// An old one whose caller passes a lease that is no whole number of seconds.
    FractionalLease(&'static Dialect),
    /// An old one inside the polling of the Java article, which tries so often.
    Polled(&'static Dialect, i32),
    /// A token on a majority of servers, asked one after the other; a failed try is left behind.
    Quorum,
    /// A modern lock of the catalogue, by its name and options: `rw-pair,side=reader`.
    Modern(&'static str),
}

impl RaceProtocol {
    /// The token lock.
    pub const TOKEN: Self = Self::Modern("token");

    /// Its name.
    pub fn name(self) -> String {
        match self {
            Self::Dialect(dialect) | Self::Refreshing(dialect) => dialect.name.to_owned(),
            Self::FractionalLease(dialect) => format!("{} (lease not validated)", dialect.name),
            Self::Polled(dialect, tries) => format!("{} (polled, maxTryCount {tries})", dialect.name),
            Self::Quorum => "redlock (a failed try is left behind)".to_owned(),
            Self::Modern(written) => {
                let choice = choice(written);
                let name = choice.protocol().name();
                if choice.protocol().has_sides() { format!("{name} ({})", side(&choice)) } else { name.to_owned() }
            }
        }
    }

    /// Its lock on a key.
    pub fn locker(self, key: Key, lease: Lease) -> Arc<dyn Locker> {
        match self {
            Self::Dialect(dialect) => Arc::new(Lock::new(dialect, key, lease)),
            Self::Refreshing(dialect) => Arc::new(Lock::new(dialect, key, lease).refreshing()),
            Self::FractionalLease(dialect) => Arc::new(FractionalLease::new(Lock::new(dialect, key, lease))),
            Self::Polled(dialect, tries) => Arc::new(Polled::new(Lock::new(dialect, key, lease), tries)),
            Self::Quorum => Arc::new(Quorum::new(key, lease)),
            Self::Modern(written) => choice(written).locker(key, lease),
        }
    }
}

impl RaceProtocol {
    /// Its row in the catalogue of old dialects, if it is one.
    pub(super) fn dialect(self) -> Option<&'static Dialect> {
        match self {
            Self::Dialect(dialect)
            | Self::Refreshing(dialect)
            | Self::FractionalLease(dialect)
            | Self::Polled(dialect, _) => Some(dialect),
            Self::Quorum | Self::Modern(_) => None,
        }
    }

    /// On how many servers it keeps its lock.
    pub(super) fn servers(self) -> u8 {
        match self {
            Self::Quorum => SERVERS.get(),
            Self::Modern(written) => choice(written).servers(),
            Self::Dialect(_) | Self::Refreshing(_) | Self::FractionalLease(_) | Self::Polled(..) => 1,
        }
    }
}

/// The names of these, each once.
pub(super) fn names(protocols: impl Iterator<Item = RaceProtocol>) -> String {
    let mut names: Vec<String> = Vec::new();
    for name in protocols.map(RaceProtocol::name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(" + ")
}

fn choice(written: &str) -> Choice {
    written.parse().expect("a race names protocols of the catalogue")
}

fn side(choice: &Choice) -> &'static str {
    let lease = Lease::new(Lease::MIN).expect("the shortest lease is a lease");
    match choice.locker("lock".into(), lease).mode() {
        Mode::Shared => "reader",
        Mode::Exclusive => "writer",
    }
}
