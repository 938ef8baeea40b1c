//! One kind of client of a fleet: a protocol under the name by which its user knows it.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use crate::bridge::OldKey;
use crate::lock::Lease;
use crate::protocols::{self, Choice, Generation, LookedInto, Protocol};

/// One kind of client of a fleet. Two are equal if they have the same name.
#[derive(Clone, Debug)]
pub struct Member {
    name: Cow<'static, str>,
    protocol: Protocol,
    keys: LookedInto,
    /// Of a bridge, and of a client behind a guard.
    old_key: Option<Arc<OldKey>>,
}

/// Some protocols reckon with their own lease; a usual one will do.
pub(super) const TYPICAL: Lease = match Lease::new(Duration::from_secs(30)) {
    Ok(lease) => lease,
    Err(_) => panic!("30 s is a lease"),
};

impl Member {
    /// This protocol, under the name that its user gives it.
    pub fn named(name: impl Into<String>, choice: &Choice) -> Self {
        Self {
            name: Cow::Owned(name.into()),
            protocol: choice.protocol(),
            keys: choice.keys(),
            old_key: choice.old_key(TYPICAL).map(Arc::new),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its protocol. Of a client behind a guard, the one that the client speaks.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Whether it holds a key beside that of old clients.
    pub(super) fn has_new_key(&self) -> bool {
        matches!(self.keys, LookedInto::New | LookedInto::Both)
    }

    /// Whether it looks into such a key.
    pub(super) fn looks_into(&self, place: MigrationKey) -> bool {
        match self.keys {
            LookedInto::Old => place == MigrationKey::OldKey,
            LookedInto::New => place == MigrationKey::NewKey,
            LookedInto::Both | LookedInto::Named => true,
        }
    }

    /// What it reads and writes in the old key, if it is a bridge or behind a guard.
    pub(super) fn old_key(&self) -> Option<&OldKey> {
        self.old_key.as_deref()
    }
}

/// Which of the two keys of a migration a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MigrationKey {
    /// That of old clients, or of any lock without a bridge.
    OldKey,
    /// That of new clients, beside it.
    NewKey,
}

impl From<Protocol> for Member {
    /// Under its own name.
    fn from(protocol: Protocol) -> Self {
        static BRIDGE: LazyLock<Option<Arc<OldKey>>> = LazyLock::new(|| {
            let bridge = protocols::catalogue().find(|protocol| protocol.generation() == Generation::Bridge)?;
            bridge.name().parse::<Choice>().ok()?.old_key(TYPICAL).map(Arc::new)
        });
        let old_key = if protocol.generation() == Generation::Bridge { BRIDGE.clone() } else { None };
        Self { name: Cow::Borrowed(protocol.name()), protocol, keys: protocol.keys(), old_key }
    }
}

impl From<&Choice> for Member {
    /// Under its name with the options that were given.
    fn from(choice: &Choice) -> Self {
        Self::named(choice.to_string(), choice)
    }
}

impl PartialEq for Member {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Member {}
