//! A parsed and validated choice: a protocol, and the values of its options.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use super::bridge;
use super::guard::{self, ModeOfGuard};
use super::looked_into::LookedInto;
use super::maker::Maker;
use super::modern::SERVERS;
use super::protocol::{Generation, Protocol, find};
use super::spec::Spec;
use super::typed::Typed;
use super::unsuitable::Unsuitable;
use crate::bridge::OldKey;
use crate::legacy::{KeyName, Lock, Refresh};
use crate::lock::{Lease, Locker};
use crate::wire::Key;

/// A protocol, chosen with all its options.
#[derive(Clone)]
pub struct Choice {
    protocol: Protocol,
    written: String,
    maker: Maker,
    servers: u8,
    mistakes_types: bool,
}

impl Choice {
    /// Validates a name with its options.
    ///
    /// # Errors
    /// [`Unsuitable`]: unknown protocol, unknown option, invalid value, a fleet that cannot be bridged, or a client that
    /// cannot be guarded.
    pub fn of(spec: &Spec) -> Result<Self, Unsuitable> {
        let guarded = guard::client(&spec.name);
        let protocol = find(guarded.as_ref().map_or(spec.name.as_str(), |(_, dialects)| dialects[0]))?;
        let settings = protocol.settings();
        let knows = |name: &str, word: &str| settings.iter().any(|it| it.name == name && it.allows(word));
        if let Some((name, word)) = spec.options().iter().find(|(name, word)| !knows(name, word)) {
            return Err(Unsuitable::Option {
                protocol: protocol.name(),
                written: if word.is_empty() { name.clone() } else { format!("{name}={word}") },
                known: settings.to_vec(),
            });
        }
        let options: String = spec.options().iter().map(|(name, word)| format!(",{name}={word}")).collect();
        let name = if protocol.generation() == Generation::Bridge { &spec.name } else { protocol.name() };
        if let Some((mode, dialects)) = guarded {
            let dialects = dialects.into_iter().map(find).collect::<Result<Vec<_>, _>>()?;
            let names: Vec<_> = dialects.iter().map(|dialect| dialect.name()).collect();
            let written = mode.client_of(&names);
            let maker = guard::maker(mode, &dialects)?;
            return Ok(Self { protocol, written, maker, servers: 1, mistakes_types: protocol.mistakes_types(&[]) });
        }
        let maker = protocol.maker(name, spec.options())?;
        let servers = spec.options().iter().find(|(name, _)| name == SERVERS.name);
        let servers = servers.and_then(|(_, word)| word.parse().ok()).unwrap_or(1);
        let mistakes_types = protocol.mistakes_types(spec.options());
        Ok(Self { protocol, written: format!("{name}{options}"), maker, servers, mistakes_types })
    }

    /// The protocol. Of a client behind a guard, the one that the client speaks.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Whether its lock may be on several independent servers.
    pub fn spans_servers(&self) -> bool {
        self.protocol.settings().contains(&SERVERS)
    }

    /// The number of independent servers of its lock.
    pub fn servers(&self) -> u8 {
        self.servers
    }

    /// The same protocol on this number of independent servers.
    ///
    /// # Errors
    /// [`Unsuitable`] if its lock uses one server, or does not support this number.
    pub fn on_servers(&self, servers: usize) -> Result<Self, Unsuitable> {
        format!("{},{}={servers}", self.written, SERVERS.name).parse()
    }

    /// How its programs derive a key from the caller's name: one rule, or for a bridge those of its dialects,
    /// each once.
    pub fn key_names(&self) -> Vec<KeyName> {
        match self.protocol.generation() {
            Generation::Bridge => bridge::key_names(&self.written),
            Generation::Legacy | Generation::Modern => vec![self.protocol.key_name()],
        }
    }

    /// Whether its lock is in the key beside that of old clients, as `token,key=sibling`: a name does not tell which key that is.
    pub fn is_beside_old_key(&self) -> bool {
        self.written.split(',').any(|option| option == "key=sibling")
    }

    /// The key or keys that its clients look into.
    pub(crate) fn keys(&self) -> LookedInto {
        match guard::client(&self.written) {
            Some((ModeOfGuard::Bridge, _)) => LookedInto::Both,
            Some((ModeOfGuard::Protect, _)) => LookedInto::Old,
            None if self.is_beside_old_key() => LookedInto::New,
            None => self.protocol.keys(),
        }
    }

    /// What it reads in the old key, and writes there, with this lease; `None` unless it is a bridge or a client behind a guard.
    pub(crate) fn old_key(&self, lease: Lease) -> Option<OldKey> {
        match guard::client(&self.written) {
            Some((_, names)) => {
                let dialects: Vec<_> = names.into_iter().filter_map(|name| find(name).ok()?.dialect()).collect();
                OldKey::of(&dialects, lease, Duration::ZERO)
            }
            None if self.protocol.generation() == Generation::Bridge => {
                OldKey::of(&bridge::dialects(&self.written), lease, bridge::skew(&self.written))
            }
            None => None,
        }
    }

    /// This protocol's lock on `key`, with this lease.
    pub fn locker(&self, key: Key, lease: Lease) -> Arc<dyn Locker> {
        (self.maker)(key, lease)
    }

    /// Whether its clients acquire on a key of another type, which they take for no lock or overwrite. A program uses
    /// [`typed_locker`](Self::typed_locker) then.
    pub fn mistakes_types(&self) -> bool {
        self.mistakes_types
    }

    /// The same lock, acquired only where its key can hold it: each attempt asks for the type of the key by TYPE before it
    /// begins, and again when it has won, and fails with WRONGTYPE. A user of Redis that may not send TYPE is not protected.
    pub fn typed_locker(&self, key: Key, lease: Lease) -> Arc<dyn Locker> {
        Arc::new(Typed::new(self.locker(key, lease), self.protocol.key_type(), self.servers))
    }

    /// The same lock, which extends as the protocol's clients do: an old client in its own way, which may overwrite the lock of
    /// another holder. `None` if an old client of this protocol cannot extend.
    pub fn extending_locker(&self, key: Key, lease: Lease) -> Option<Arc<dyn Locker>> {
        match self.protocol.dialect().filter(|dialect| dialect.name == self.written) {
            Some(dialect) if dialect.refresh == Refresh::Never => None,
            Some(dialect) => Some(Arc::new(Lock::new(dialect, key, lease).refreshing())),
            None => Some(self.locker(key, lease)),
        }
    }
}

impl FromStr for Choice {
    type Err = Unsuitable;

    fn from_str(written: &str) -> Result<Self, Unsuitable> {
        let Ok(spec) = written.parse();
        Self::of(&spec)
    }
}

impl fmt::Display for Choice {
    /// The protocol's name and the options that were given.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.written)
    }
}

impl fmt::Debug for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Choice({self})")
    }
}
