//! The jobs, and the roles in which a worker can lock them.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use lockshift::bridge::{Bridge, new_key};
use lockshift::legacy;
use lockshift::lock::{Lease, Locker};
use lockshift::modern::TokenLock;
use lockshift::wire::Key;

/// Work that one worker at a time may do.
#[derive(Debug)]
pub(crate) struct Job {
    /// The key of the old lock.
    pub(crate) key: &'static str,
    /// The dialect of the old workers.
    pub(crate) dialect: &'static str,
    /// The language of their service.
    pub(crate) language: Language,
}

/// What a service is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Php,
    Java,
}

/// Two services, each with its own key, because neither can read the other's stamps.
pub(crate) const JOBS: [Job; 2] = [
    Job { key: "example:invoices", dialect: "php-getset", language: Language::Php },
    Job { key: "example:stock", dialect: "jedis-lock", language: Language::Java },
];

/// The lease of all workers: long compared with the few milliseconds of a hold, short compared with a reader's patience.
pub(crate) const LEASE: Duration = Duration::from_secs(5);

/// How a worker locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// With the old lock, on the old key.
    Old,
    /// With the old lock, unchanged, on a connection to the guard.
    Guarded,
    /// With a bridge, on both keys.
    Bridge,
    /// With a token, on the new key.
    Modern,
    /// With a token, on the old key: a deployment without a plan.
    Hasty,
}

impl Role {
    /// The role of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Old, Self::Bridge, Self::Modern, Self::Hasty].into_iter().find(|role| role.name() == name)
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            // A guarded worker is started as an old one, with another address.
            Self::Old | Self::Guarded => "old",
            Self::Bridge => "bridge",
            Self::Modern => "modern",
            Self::Hasty => "hasty",
        }
    }

    /// The lock of a job in this role.
    pub(crate) fn locker(self, job: &Job) -> Result<Arc<dyn Locker>, Box<dyn Error>> {
        let (key, lease) = (Key::from(job.key), Lease::new(LEASE)?);
        let dialect = legacy::find(job.dialect).ok_or("no such dialect")?;
        Ok(match self {
            Self::Old | Self::Guarded => Arc::new(legacy::Lock::new(dialect, key, lease)),
            Self::Bridge => Arc::new(Bridge::new(&[dialect], key, lease)?),
            Self::Modern => Arc::new(TokenLock::new(new_key(&key), lease)),
            Self::Hasty => Arc::new(TokenLock::new(key, lease)),
        })
    }
}
