//! How a try, and any other question to the server, can end. None of these is an error.

use lockshift_lock::{Held, Locker, Refusal, Released};
use lockshift_wire::{Command, Key, Printable};
use redis::RedisError;
use thiserror::Error;

use super::error::Error;
use super::events::RELEASE;
use super::interrupted::{Cause, Interrupted};

/// How a try to acquire ended.
#[derive(Debug)]
#[must_use = "a guard that is dropped releases its lock"]
pub enum Attempt<G> {
    /// The lock is acquired, for as long as the guard lives and its lease runs.
    Won(G),
    /// Another client holds it.
    Held(Held),
    /// It was acquired, but the reply came when the lease had already expired by the client's own clock; it has been
    /// released, or left to its expiry. The server was slow, or the lease is too short to be held at all.
    TooLate,
    /// The reply was lost. If the attempt succeeded, there may be a lock now that no client holds, until its lease ends.
    Unknown(Unknown),
}

impl<G> Attempt<G> {
    /// Whether a waiter that was woken for a release has made use of it: it holds the lock, or another client does. If
    /// not, the lock may be free, and the wake-up goes to the next waiter. The registry of waiters knows of locks that may be
    /// refused because of another key.
    pub(super) fn uses_the_wake_up(&self) -> bool {
        match self {
            Self::Won(_) | Self::Held(_) => true,
            Self::TooLate | Self::Unknown(_) => false,
        }
    }

    /// The guard, if the lock was won. How else the attempt ended is forgotten.
    pub fn won(self) -> Option<G> {
        match self {
            Self::Won(guard) => Some(guard),
            Self::Held(_) | Self::TooLate | Self::Unknown(_) => None,
        }
    }

    /// Another client holds it; unless too few of several servers can be used for anyone to acquire it, which is an error.
    pub(super) fn refused(key: &Key, held: Held) -> Result<Self, Error> {
        if held.reason == Refusal::NoMajority && held.votes.usable() < held.votes.needed() {
            return Err(Error::too_few_servers(key, held.votes));
        }
        Ok(Self::Held(held))
    }
}

/// What the server answered, where its answer may be lost.
#[derive(Debug)]
#[must_use]
pub enum Answer<T> {
    /// This.
    Known(T),
    /// The reply was lost.
    Unknown(Unknown),
}

/// A reply that was lost: its command may have run, or not.
#[derive(Debug, Error)]
#[error("lock key `{key}`: the reply to {} was lost, and whether the command took effect is unknown", Printable(command.name()))]
pub struct Unknown {
    /// The lock's key.
    pub key: Key,
    /// The command that was not answered.
    pub command: Command,
    /// What the `redis` crate says.
    #[source]
    pub source: RedisError,
}

impl Unknown {
    /// Unknown, if the server may have been changed; else the error that it is.
    pub(super) fn or_error(key: &Key, interrupted: Interrupted) -> Result<Self, Error> {
        match interrupted.cause {
            Cause::NoReply { command, source } if interrupted.may_have_acted => {
                Ok(Self { key: key.clone(), command, source })
            }
            cause @ (Cause::NoReply { .. } | Cause::NoSuchServer { .. } | Cause::Fault(_)) => {
                Err(Error::because(key, cause))
            }
        }
    }
}

impl<T> Answer<T> {
    pub(super) fn of(key: &Key, ran: Result<T, Interrupted>) -> Result<Self, Error> {
        match ran {
            Ok(answer) => Ok(Self::Known(answer)),
            Err(interrupted) => Unknown::or_error(key, interrupted).map(Self::Unknown),
        }
    }
}

/// What becomes of a lock that was not released, or not for certain.
pub(crate) fn what_remains(expires: bool) -> &'static str {
    if expires {
        "if the lock is still there, its lease will end it"
    } else {
        "if the lock is still there, it stays until its key is deleted, as it has no lease"
    }
}

/// Logs how a release ended whose caller does not see it: the guard was dropped, or came too late.
pub(super) fn log_unasked(locker: &dyn Locker, released: &Result<Answer<Released>, Error>) {
    let (key, remains) = (locker.key(), what_remains(locker.expires()));
    match released {
        Ok(Answer::Known(Released::Freed | Released::LeftAlone | Released::StillHeld)) => {
            log::debug!(target: RELEASE, "lock key `{key}`: released");
        }
        Ok(Answer::Known(Released::Lost)) => {
            log::warn!(target: RELEASE, "lock key `{key}`: had been lost before its release");
        }
        Ok(Answer::Known(Released::Intruded)) => {
            log::warn!(target: RELEASE, "lock key `{key}`: released, but another client had written into it");
        }
        Ok(Answer::Unknown(unknown)) => {
            log::warn!(target: RELEASE, "the outcome of the release is unknown; {remains}: {unknown}");
        }
        Err(error) => {
            log::warn!(target: RELEASE, "the release failed; {remains}: {error}")
        }
    }
}

#[test]
fn only_an_attempt_after_which_the_lock_is_held_uses_the_wake_up() {
    assert!(Attempt::Won(()).uses_the_wake_up());
    assert!(Attempt::<()>::Held(Held::because(Refusal::Live)).uses_the_wake_up());
    assert!(!Attempt::<()>::TooLate.uses_the_wake_up());
}

#[test]
fn only_an_attempt_that_was_won_has_a_guard() {
    assert_eq!(Attempt::Won(1).won(), Some(1));
    assert_eq!(Attempt::<u8>::TooLate.won(), None);
}
