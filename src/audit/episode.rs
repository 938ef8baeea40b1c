//! One acquisition from the first try to the end of the work: what a client wanted, and how long it took.

use std::sync::Arc;
use std::time::Duration;

use super::finding::Certainty;
use crate::wire::{Key, UnixTime};

/// One acquisition, from the first try to the end of the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Episode {
    /// The key.
    pub key: Key,
    /// Its database.
    pub database: u32,
    /// Which client.
    pub client: Arc<str>,
    /// When it first asked.
    pub asked_at: UnixTime,
    /// How often it was refused before it won.
    pub refusals: u64,
    /// When it won.
    pub since: UnixTime,
    /// When it released; `None` if it never did.
    pub until: Option<UnixTime>,
    /// For how long it acquired, where the trace shows that: extensions do not count.
    pub lease: Option<Duration>,
    /// When its lease ended or would have ended, extensions included; `None` if only a release ended it.
    pub lease_ends_at: Option<UnixTime>,
    /// Whether it was extended.
    pub is_extended: bool,
    /// How sure that is.
    pub certainty: Certainty,
}
