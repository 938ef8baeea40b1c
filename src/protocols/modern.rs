//! The modern locks as rows: what they are called, what may be said about them, and what that makes.

use std::sync::Arc;

use super::maker::Maker;
use super::setting::Setting;
use crate::lock::{Lease, Locker, Mode};
use crate::modern::{Announce, FairLock, Native, PairLock, ReadWriteLock, StampHashLock, Timing, TokenLock};
use crate::wire::Key;

/// A modern lock.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Modern {
    pub(super) name: &'static str,
    pub(super) source: &'static str,
    pub(super) encoding: &'static str,
    /// What may be said about it, and with which words.
    pub(super) settings: &'static [Setting],
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Token,
    Fair,
    ReadWrite,
    Pair,
    Stamps,
}

const SIDE: Setting = Setting { name: "side", words: &["writer", "reader"] };

const ANNOUNCE: Setting = Setting { name: "announce", words: &["none", "publish", "spublish"] };

/// All of them.
pub(super) const ROWS: &[Modern] = &[
    Modern {
        name: "token",
        source: "Redis documentation, \"Distributed Locks with Redis\", and SET, \"Patterns\"",
        encoding: "<hex>",
        settings: &[
            Setting { name: "expiry", words: &["px", "ex", "pxat", "exat"] },
            Setting { name: "native", words: &["none", "redis-8.4", "valkey-8.1", "valkey-9.0"] },
            ANNOUNCE,
        ],
        kind: Kind::Token,
    },
    Modern {
        name: "fair",
        source: "lockshift: a token lock with a queue, first come, first served",
        encoding: "<hex>; the queue in {key}:queue and {key}:places",
        settings: &[Setting { name: "announce", words: &["publish", "spublish"] }],
        kind: Kind::Fair,
    },
    Modern {
        name: "read-write",
        source: "lockshift: an entry and a lease for every reader",
        encoding: "<hex>; readers as members of {key}:readers",
        settings: &[SIDE],
        kind: Kind::ReadWrite,
    },
    Modern {
        name: "rw-pair",
        source: "\"Redis distributed read/write lock\", single-instance version",
        encoding: "\"1\" in a key for all readers, \"1\" in {key}:writer",
        settings: &[SIDE],
        kind: Kind::Pair,
    },
    Modern {
        name: "rw-stamps",
        source: "\"Redis distributed read/write lock\", cluster version",
        encoding: "hash of read and write: decimal ms, now",
        settings: &[SIDE],
        kind: Kind::Stamps,
    },
];

impl Modern {
    /// What these options make of it. Words that were not said are the first of their setting.
    pub(super) fn maker(&'static self, said: &[(String, String)]) -> Maker {
        let word = |setting: &str| said.iter().find(|(name, _)| name == setting).map(|(_, word)| word.as_str());
        let said = Said {
            timing: timing(word("expiry")),
            native: native(word("native")),
            announce: announce(word("announce")),
            mode: if word("side") == Some("reader") { Mode::Shared } else { Mode::Exclusive },
        };
        Arc::new(move |key, lease| self.lock(key, lease, said))
    }

    /// Whether it could have written this string.
    pub(super) fn could_write(&self, value: &[u8]) -> bool {
        match self.kind {
            Kind::Token | Kind::Fair | Kind::ReadWrite => is_token(value),
            Kind::Pair => value == b"1",
            // A hash.
            Kind::Stamps => false,
        }
    }

    fn lock(&self, key: Key, lease: Lease, Said { timing, native, announce, mode }: Said) -> Arc<dyn Locker> {
        match self.kind {
            Kind::Token => {
                let lock = TokenLock::new(key, lease).timed(timing).native(native);
                match announce {
                    Some(announce) => Arc::new(lock.announced(announce)),
                    None => Arc::new(lock),
                }
            }
            Kind::Fair => Arc::new(FairLock::new(key, lease).announced(announce.unwrap_or(Announce::Publish))),
            Kind::ReadWrite => Arc::new(ReadWriteLock::new(key, mode, lease)),
            Kind::Pair => {
                let writer = key.sibling("writer");
                Arc::new(PairLock::new(key, writer, mode, lease))
            }
            Kind::Stamps => Arc::new(StampHashLock::new(key, mode, lease, lease)),
        }
    }
}

/// What was said about it.
#[derive(Clone, Copy)]
struct Said {
    timing: Timing,
    native: Native,
    announce: Option<Announce>,
    mode: Mode,
}

fn announce(word: Option<&str>) -> Option<Announce> {
    match word {
        Some("publish") => Some(Announce::Publish),
        Some("spublish") => Some(Announce::SPublish),
        Some(_) | None => None,
    }
}

fn timing(word: Option<&str>) -> Timing {
    match word {
        Some("ex") => Timing::Ex,
        Some("pxat") => Timing::PxAt,
        Some("exat") => Timing::ExAt,
        Some(_) | None => Timing::Px,
    }
}

fn native(word: Option<&str>) -> Native {
    match word {
        Some("redis-8.4") => Native::REDIS_8_4,
        Some("valkey-8.1") => Native::VALKEY_8_1,
        Some("valkey-9.0") => Native::VALKEY_9_0,
        Some(_) | None => Native::NONE,
    }
}

fn is_token(value: &[u8]) -> bool {
    value.len() == 32 && value.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte))
}
