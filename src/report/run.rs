//! How a command that ran under a lock came to its end.

use std::time::Duration;

use serde::Serialize;

/// How a command that ran under a lock, or did not, came to its end.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ran {
    /// The key.
    pub key: String,
    /// The protocol, with its options.
    pub protocol: String,
    /// Whether the lock was acquired; `None` if the reply was lost.
    pub acquired: Option<bool>,
    /// How long that took.
    pub waited_ms: u64,
    /// How long the command ran; `None` if it did not.
    pub ran_ms: Option<u64>,
    /// The command's exit status, 128 and a signal if one ended it; `None` if it did not run, or was killed with its supervisor.
    pub status: Option<u8>,
    /// Whether the lock was lost while the command ran.
    pub lost: bool,
    /// Whether the command was asked to end because the lease was about to.
    pub ended_early: bool,
    /// Whether the command was asked to end because it had run for its maximum time.
    pub timed_out: bool,
    /// How the lock was released; `None` if it was not held.
    pub released: Option<Released>,
}

/// How a lock was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Released {
    /// The key was deleted.
    Freed,
    /// There was nothing of ours any more.
    Lost,
    /// The protocol's own check left the key alone.
    LeftAlone,
    /// Ours was released; the same owner, or others that share the lock, still hold it.
    StillHeld,
    /// Ours was released; another client had written into the key meanwhile.
    Intruded,
    /// The server could not be reached or refused, or a reply was lost: if the lock is still there, its lease ends it, if any.
    Unknown,
}

impl Ran {
    /// Nothing has happened yet.
    pub fn new(key: String, protocol: String) -> Self {
        Self {
            key,
            protocol,
            acquired: Some(false),
            waited_ms: 0,
            ran_ms: None,
            status: None,
            lost: false,
            ended_early: false,
            timed_out: false,
            released: None,
        }
    }
}

/// A length in whole milliseconds, as the fields have it.
pub fn whole_millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
