//! What goes wrong between a lock and its server, each in one sentence that names the key and says what to do.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use lockshift_lock::Votes;
use lockshift_wire::{Fault, Key};
use redis::RedisError;
use thiserror::Error as Telling;

use super::connection::refusal_text;
use super::error_kind::ErrorKind;
use super::interrupted::Cause;
use super::refusal;

/// A lock could not be acquired, extended or released because its server could not be used. That another client holds
/// it is not an error: see the outcomes.
#[derive(Debug)]
pub struct Error {
    key: Key,
    kind: ErrorKind,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// How the servers voted, where those that can be used are too few.
#[derive(Debug, Telling)]
#[error("{0}")]
struct TooFew(Votes);

impl Error {
    /// The error that connecting to the server, for the sake of the lock on `key`, ended with.
    pub fn connection(key: &Key, source: RedisError) -> Self {
        let kind = match refusal_text(&source) {
            Some(text) => refusal::kind(&text),
            None if source.kind() == redis::ErrorKind::AuthenticationFailed => ErrorKind::NotAuthenticated,
            None if source.is_connection_refusal() => ErrorKind::ConnectionRefused,
            None if source.is_timeout() => ErrorKind::TimedOut,
            None if source.is_io_error() => ErrorKind::Disconnected,
            None => ErrorKind::Unusable,
        };
        Self::new(key, kind, Some(source.into()))
    }

    /// The error that a procedure on `key` broke off for.
    pub fn because(key: &Key, cause: Cause) -> Self {
        match cause {
            Cause::Fault(fault) => Self::refused(key, fault),
            missing @ Cause::NoSuchServer { .. } => Self::new(key, ErrorKind::TooFewConnected, Some(missing.into())),
            Cause::NoReply { source, .. } => Self::connection(key, source),
        }
    }

    /// Redis' refusal.
    fn refused(key: &Key, fault: Fault) -> Self {
        let kind = match &fault {
            Fault::Refused { text, .. } => refusal::kind(text),
            Fault::Unexpected { .. } => ErrorKind::NotRedis,
            Fault::TooFewAnswers { .. } => ErrorKind::TooFewServers,
        };
        Self::new(key, kind, Some(fault.into()))
    }

    /// Too few of several servers can be used for any client to acquire the lock.
    pub(super) fn too_few_servers(key: &Key, votes: Votes) -> Self {
        Self::new(key, ErrorKind::TooFewServers, Some(TooFew(votes).into()))
    }

    /// Too few replicas have acknowledged the lock.
    pub(super) fn not_replicated(key: &Key, source: impl StdError + Send + Sync + 'static) -> Self {
        Self::new(key, ErrorKind::NotReplicated, Some(source.into()))
    }

    /// The connection sends commands again by itself.
    pub(super) fn resending_connection(key: &Key) -> Self {
        Self::new(key, ErrorKind::ResendingConnection, None)
    }

    /// The connection is shared, and the protocol cannot share.
    pub(super) fn shared_connection(key: &Key) -> Self {
        Self::new(key, ErrorKind::SharedConnection, None)
    }

    /// Random bits cannot be drawn.
    pub(super) fn no_randomness(key: &Key, source: getrandom::Error) -> Self {
        Self::new(key, ErrorKind::NoRandomness, Some(source.into()))
    }

    /// A thread cannot be started.
    pub(super) fn no_thread(key: &Key, source: io::Error) -> Self {
        Self::new(key, ErrorKind::NoThread, Some(source.into()))
    }

    /// There is no runtime.
    #[cfg(feature = "tokio")]
    pub(super) fn no_runtime(key: &Key, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(key, ErrorKind::NoRuntime, Some(source.into()))
    }

    fn new(key: &Key, kind: ErrorKind, source: Option<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { key: key.clone(), kind, source }
    }

    /// The lock's key.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lock key `{}`: {}", self.key, self.kind)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

#[test]
fn what_is_neither_a_refusal_nor_of_the_network_makes_a_connection_unusable() {
    let kind = |source: RedisError| Error::connection(&Key::from("k"), source).kind();
    assert_eq!(kind((redis::ErrorKind::InvalidClientConfig, "no such address").into()), ErrorKind::Unusable);
    assert_eq!(kind(io::Error::from(io::ErrorKind::BrokenPipe).into()), ErrorKind::Disconnected);
    assert_eq!(kind(io::Error::from(io::ErrorKind::ConnectionRefused).into()), ErrorKind::ConnectionRefused);
    assert_eq!(kind(io::Error::from(io::ErrorKind::TimedOut).into()), ErrorKind::TimedOut);
}
