//! What an audit knows while the trace goes on: who holds and who waits now, and what changed since it was last asked.

use std::sync::Arc;
use std::time::Duration;

use super::finding::Certainty;
use crate::wire::{Key, UnixTime};

/// A lock that a client holds or waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveLock {
    /// The key.
    pub key: Key,
    /// Its database.
    pub database: u32,
    /// The clients that hold it: more than one if something went wrong.
    pub holders: Vec<LiveHolder>,
    /// The clients that want it, and since when: those that were refused and have asked within the last minute.
    pub waiters: Vec<(Arc<str>, UnixTime)>,
}

/// A client that holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveHolder {
    /// Which client.
    pub client: Arc<str>,
    /// Since when.
    pub since: UnixTime,
    /// The end of its lease; `None` if only a release ends it.
    pub ends_at: Option<UnixTime>,
    /// How sure that is.
    pub certainty: Certainty,
}

/// A hold began or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldEvent {
    /// The key.
    pub key: Key,
    /// Its database.
    pub database: u32,
    /// Which client.
    pub client: Arc<str>,
    /// When.
    pub at: UnixTime,
    /// What happened.
    pub what: HoldChange,
}

/// How a hold began or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HoldChange {
    /// The client has acquired, after it waited for so long.
    Acquired {
        /// From the first try.
        waited: Duration,
    },
    /// The client has released, after it held for so long.
    Released {
        /// From the acquisition.
        held: Duration,
    },
    /// The lease ended without a release, or the lock was lost.
    Ended {
        /// From the acquisition.
        held: Duration,
    },
}
