//! What can go wrong, one type for each operation.

use std::fmt;
use std::time::Duration;

use lockshift_lock as lock;
use lockshift_wire::{Key, Printable};
use redis::RedisError;
use thiserror::Error;

use crate::bridge::Unbridgeable;
use crate::connect::InvalidAddress;
use crate::driver::{self, Loss, Unknown};
use crate::protocols::Unsuitable;

/// Why there is no connection.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address is malformed.
    #[error(transparent)]
    Address(#[from] InvalidAddress),
    /// The server cannot be reached, or refuses the login.
    #[error("cannot connect to {server}")]
    Connection {
        /// The server, without its password.
        server: String,
        /// What the `redis` crate says.
        source: RedisError,
    },
    /// The system gives no random bits.
    #[error("the system gives no random bits")]
    NoRandomness(#[from] getrandom::Error),
}

/// Why there is no such lock.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ChooseError {
    /// The lease is too short or too long.
    #[error(transparent)]
    Lease(#[from] lock::LeaseError),
    /// There is no such protocol, or it has no such option.
    #[error(transparent)]
    Protocol(#[from] Unsuitable),
    /// The protocol is not one of the timestamp locks.
    #[error("`{0}` is not a timestamp lock: choose it with `protocol`, or another of `lockshift protocols`")]
    NotLegacy(String),
    /// No bridge keeps this fleet out.
    #[error(transparent)]
    Unbridgeable(#[from] Unbridgeable),
    /// The lock needs several independent servers, and this is one.
    #[error("`{0}` is a lock on several servers: use `driver` with `Masters`")]
    SeveralServers(String),
}

/// Why a lock was not acquired.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// Another client held it until the deadline.
    #[error(transparent)]
    Timeout(#[from] Timeout),
    /// It was won, but each time only after the lease had ended by our own clock: the server is slower than the lease.
    #[error("lock key `{0}`: the server takes longer than the lease: choose a longer lease")]
    TooSlow(Key),
    /// A reply was lost and the deadline has passed. Unless the protocol could disclaim it, the lock may remain on the
    /// server until its lease ends, or for ever where it has none, as `token,expiry=none`.
    #[error("lock key `{}`: the outcome is unknown, and the lock may remain until its lease ends, if it has one", .0.key)]
    Unknown(#[from] Unknown),
    /// The server cannot be used.
    #[error(transparent)]
    Failed(#[from] driver::Error),
}

/// Another client held the lock until the deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeout {
    /// The lock's key.
    pub key: Key,
    /// The holder's value, where the protocol reads it.
    pub holder: Option<Vec<u8>>,
    /// When to try again, by the lease that was in the way of the last attempt, where the protocol knows it. Another one may last
    /// longer, and a lock without a lease stays.
    pub retry_in: Option<Duration>,
}

impl fmt::Display for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lock key `{}`: held by another client", self.key)?;
        if let Some(holder) = &self.holder {
            write!(f, ", whose value is {}", Printable(holder))?;
        }
        if let Some(retry_in) = self.retry_in.filter(|retry_in| !retry_in.is_zero()) {
            write!(f, ": try again in {retry_in:?}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Timeout {}

/// Why a lease was not extended.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExtendError {
    /// The lock had been lost before.
    #[error("lock key `{0}`: lost before it was extended")]
    Lost(Key),
    /// An older client may be working beside this holder: of several keys that are held at once one was not as it had been left.
    /// The lease was extended all the same.
    #[error("lock key `{0}`: extended, but an older client may hold it as well")]
    Intruded(Key),
    /// The protocol cannot tell its own lock from another's, and so cannot extend it without a race.
    #[error("lock key `{0}`: this protocol has no safe way to extend a lock")]
    Unsupported(Key),
    /// The reply was lost: the lease is extended, or it goes on as it was.
    #[error("lock key `{}`: the extension was not confirmed", .0.key)]
    Unknown(#[from] Unknown),
    /// The server cannot be used, or has refused. The lease goes on as it was.
    #[error(transparent)]
    Failed(#[from] driver::Error),
}

/// Why a lock was not released.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReleaseError {
    /// It had been lost before, or is shared with an older client now: the work may have had company.
    #[error("lock key `{0}`: lost before it was released")]
    Lost(Key),
    /// The reply was lost. The lock is free, or its lease ends it; where it has none, it may stay until its key is deleted. If
    /// the connection broke, a release that [may be repeated](lock::Locker::release_is_repeatable) was sent once more, and the
    /// lock is free unless that had no reply either.
    #[error("lock key `{}`: the release was not confirmed", .0.key)]
    Unknown(#[from] Unknown),
    /// The server cannot be used, or has refused. If the lock is still there, its lease ends it; but a script may have deleted
    /// the key before it was refused the rest, such as a PUBLISH that the user of Redis is not allowed.
    #[error(transparent)]
    Failed(#[from] driver::Error),
}

/// Why work under a lock was not done, or not alone.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WithError {
    /// The lock was not acquired, and the work not begun.
    #[error(transparent)]
    Acquire(#[from] AcquireError),
    /// The lock was lost while the work was under way.
    #[error("lock key `{key}`: lost while it was held ({loss:?})")]
    Lost {
        /// The lock's key.
        key: Key,
        /// How.
        loss: Loss,
    },
}
