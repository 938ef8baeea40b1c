//! Which protocol a client speaks.

use std::sync::Arc;

use super::flawed::{FractionalLease, Polled};
use super::quorum::{Quorum, SERVERS};
use crate::legacy::{Dialect, Lock};
use crate::lock::{Lease, Locker, Mode};
use crate::modern::{FencedTokenLock, PairLock, ReadWriteLock, Redlock, StampHashLock, TokenLock};
use crate::wire::Key;

/// Which protocol a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RaceProtocol {
    /// An old one: a row of the catalogue.
    Dialect(&'static Dialect),
    /// An old one whose caller passes a lease that is no whole number of seconds.
    FractionalLease(&'static Dialect),
    /// An old one inside the polling of the Java article, which is told to try so often.
    Polled(&'static Dialect, i32),
    /// The token lock.
    Token,
    /// The token lock with a fence.
    FencedToken,
    /// A token on a majority of servers, asked one after the other; a failed try is left behind.
    Quorum,
    /// A token on a majority of servers.
    Redlock,
    /// The read/write lock of two keys.
    Pair(Mode),
    /// The read/write lock of one hash.
    StampHash(Mode),
    /// The read/write lock with an entry for each reader.
    ReadWrite(Mode),
}

impl RaceProtocol {
    /// Its name.
    pub fn name(self) -> String {
        match self {
            Self::Dialect(dialect) => dialect.name.to_owned(),
            Self::FractionalLease(dialect) => format!("{} (lease not validated)", dialect.name),
            Self::Polled(dialect, tries) => format!("{} (polled, maxTryCount {tries})", dialect.name),
            Self::Token => "token".to_owned(),
            Self::FencedToken => "token-fenced".to_owned(),
            Self::Quorum => "redlock (a failed try is left behind)".to_owned(),
            Self::Redlock => "redlock".to_owned(),
            Self::Pair(mode) => format!("rw-pair ({})", side(mode)),
            Self::StampHash(mode) => format!("rw-stamps ({})", side(mode)),
            Self::ReadWrite(mode) => format!("read-write ({})", side(mode)),
        }
    }

    /// Its lock on a key.
    pub fn locker(self, key: Key, lease: Lease) -> Arc<dyn Locker> {
        match self {
            Self::Dialect(dialect) => Arc::new(Lock::new(dialect, key, lease)),
            Self::FractionalLease(dialect) => Arc::new(FractionalLease::new(Lock::new(dialect, key, lease))),
            Self::Polled(dialect, tries) => Arc::new(Polled::new(Lock::new(dialect, key, lease), tries)),
            Self::Token => Arc::new(TokenLock::new(key, lease)),
            Self::FencedToken => Arc::new(FencedTokenLock::new(key, lease)),
            Self::Quorum => Arc::new(Quorum::new(key, lease)),
            Self::Redlock => Arc::new(Redlock::new(key, lease, SERVERS)),
            Self::Pair(mode) => Arc::new(PairLock::new(key.sibling("readers"), key, mode, lease)),
            Self::StampHash(mode) => Arc::new(StampHashLock::new(key, mode, lease, lease)),
            Self::ReadWrite(mode) => Arc::new(ReadWriteLock::new(key, mode, lease)),
        }
    }
}

impl RaceProtocol {
    /// On how many servers it keeps its lock.
    pub(super) fn servers(self) -> u8 {
        if matches!(self, Self::Quorum | Self::Redlock) { SERVERS.get() } else { 1 }
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

fn side(mode: Mode) -> &'static str {
    match mode {
        Mode::Shared => "reader",
        Mode::Exclusive => "writer",
    }
}
