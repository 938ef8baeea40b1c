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
    /// When it won.
    pub since: UnixTime,
    /// When it released; `None` if it never did.
    pub until: Option<UnixTime>,
    /// How long its lease was, where the trace shows one.
    pub lease: Option<Duration>,
    /// How sure that is.
    pub certainty: Certainty,
}
