//! The modern locks as rows: what they are called, what may be said about them, and what that makes.

mod holder;
mod said;

use std::sync::Arc;

use self::holder::Layout;
use self::said::Said;
use super::maker::Maker;
use super::setting::Setting;
use crate::bridge::new_key;
use crate::modern::redisson::{Fair, Mutex, ReadWrite};
use crate::modern::{
    FairLock, FencedTokenLock, PairLock, Publish, ReadWriteLock, Redlock, ReentrantLock, StampHashLock, TokenLock,
};

pub use self::holder::Holder;
pub(super) use self::said::SERVERS;

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
    FencedToken,
    Reentrant,
    Redlock,
    ReadWrite,
    Pair,
    Stamps,
    Redisson,
    RedissonReadWrite,
}

const SIDE: Setting = Setting { name: "side", words: &["writer", "reader"] };
const ANNOUNCE: Setting = Setting { name: "announce", words: &["publish", "spublish"] };

/// All of them.
pub(super) const ROWS: &[Modern] = &[
    Modern {
        name: "token",
        source: "Redis documentation, \"Distributed Locks with Redis\", and SET, \"Patterns\"",
        encoding: "<hex>",
        settings: &[
            Setting { name: "expiry", words: &["px", "ex", "pxat", "exat"] },
            Setting { name: "key", words: &["same", "sibling"] },
            Setting { name: "native", words: &["none", "redis-8.4", "valkey-8.1", "valkey-9.0"] },
            Setting { name: "announce", words: &["none", "publish", "spublish"] },
        ],
        kind: Kind::Token,
    },
    Modern {
        name: "fair",
        source: "lockshift: a token lock with a queue, first come, first served",
        encoding: "<hex>; the queue in {key}:queue and {key}:places",
        settings: &[ANNOUNCE],
        kind: Kind::Fair,
    },
    Modern {
        name: "token-fenced",
        source: "Martin Kleppmann, \"How to do distributed locking\"",
        encoding: "<hex>; a counter in {key}:fence",
        settings: &[],
        kind: Kind::FencedToken,
    },
    Modern {
        name: "reentrant",
        source: "\"Distributed lock by Redis\", re-entrant lock (hash and Lua)",
        encoding: "hash of <uuid>:<thread>: decimal count",
        settings: &[Setting { name: "fence", words: &["no", "yes"] }],
        kind: Kind::Reentrant,
    },
    Modern {
        name: "redlock",
        source: "Redis documentation, \"Distributed Locks with Redis\", \"The Redlock Algorithm\"",
        encoding: "<hex>, on most of several servers",
        settings: &[SERVERS],
        kind: Kind::Redlock,
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
    Modern {
        name: "redisson",
        source: "redisson/redisson 4.7.0, getLock, getFencedLock, getSpinLock, getFairLock",
        encoding: "hash of <uuid>:<thread>: decimal count",
        settings: &[Setting { name: "kind", words: said::REDISSON_KINDS }, ANNOUNCE],
        kind: Kind::Redisson,
    },
    Modern {
        name: "redisson-rw",
        source: "redisson/redisson 4.7.0, getReadWriteLock",
        encoding: "hash of mode: read or write, <uuid>:<thread>[:write]: decimal count",
        settings: &[SIDE, ANNOUNCE],
        kind: Kind::RedissonReadWrite,
    },
];

impl Modern {
    /// What these options make of it. Words that were not said are the first of their setting.
    pub(super) fn maker(&'static self, said: &[(String, String)]) -> Maker {
        let said = Said::these(said);
        let (mode, announced) = (said.mode(), said.announced());
        let publish = announced.unwrap_or_default();
        match self.kind {
            Kind::Token => {
                let (timing, native, beside) = (said.timing(), said.native(), said.is("key", "sibling"));
                Arc::new(move |key, lease| {
                    let key = if beside { new_key(&key) } else { key };
                    let lock = TokenLock::new(key, lease).timed(timing).native(native);
                    Arc::new(announced.map_or(lock.clone(), |publish| lock.announced(publish)))
                })
            }
            Kind::Fair => Arc::new(move |key, lease| Arc::new(FairLock::new(key, lease).announced(publish))),
            Kind::Redlock => {
                let servers = said.servers();
                Arc::new(move |key, lease| Arc::new(Redlock::new(key, lease, servers)))
            }
            Kind::FencedToken => Arc::new(|key, lease| Arc::new(FencedTokenLock::new(key, lease))),
            Kind::Reentrant if said.is("fence", "yes") => {
                Arc::new(|key, lease| Arc::new(ReentrantLock::new(key, lease).fenced()))
            }
            Kind::Reentrant => Arc::new(|key, lease| Arc::new(ReentrantLock::new(key, lease))),
            Kind::ReadWrite => Arc::new(move |key, lease| Arc::new(ReadWriteLock::new(key, mode, lease))),
            Kind::Pair => Arc::new(move |key, lease| {
                let writer = key.sibling("writer");
                Arc::new(PairLock::new(key, writer, mode, lease))
            }),
            Kind::Stamps => Arc::new(move |key, lease| Arc::new(StampHashLock::new(key, mode, lease, lease))),
            Kind::Redisson => redisson(&said, publish),
            Kind::RedissonReadWrite => {
                Arc::new(move |key, lease| Arc::new(ReadWrite::new(key, mode, lease).publish(publish)))
            }
        }
    }

    /// Whether it could have written this string.
    pub(super) fn could_write(&self, value: &[u8]) -> bool {
        match self.kind {
            Kind::Token | Kind::Fair | Kind::FencedToken | Kind::Redlock | Kind::ReadWrite => is_token(value),
            Kind::Pair => value == b"1",
            // A hash.
            Kind::Stamps | Kind::Reentrant | Kind::Redisson | Kind::RedissonReadWrite => false,
        }
    }

    /// Who holds, if it could have written this hash.
    pub(super) fn holders(&self, fields: &[(Vec<u8>, Vec<u8>)]) -> Option<Vec<Holder>> {
        match self.kind {
            Kind::Reentrant | Kind::Redisson => Layout::Owner.holders(fields),
            Kind::RedissonReadWrite => Layout::ModeAndOwners.holders(fields),
            Kind::Stamps => Layout::Stamps.holders(fields),
            // A string.
            Kind::Token | Kind::Fair | Kind::FencedToken | Kind::Redlock | Kind::ReadWrite | Kind::Pair => None,
        }
    }

    /// Whether what it keeps in its key is a hash.
    pub(super) fn keeps_hash(&self) -> bool {
        match self.kind {
            Kind::Stamps | Kind::Reentrant | Kind::Redisson | Kind::RedissonReadWrite => true,
            Kind::Token | Kind::Fair | Kind::FencedToken | Kind::Redlock | Kind::ReadWrite | Kind::Pair => false,
        }
    }

    /// Whether the string that it writes names its owner.
    pub(super) fn names_owner(&self) -> bool {
        match self.kind {
            Kind::Token | Kind::Fair | Kind::FencedToken | Kind::Redlock | Kind::ReadWrite => true,
            Kind::Pair | Kind::Stamps | Kind::Reentrant | Kind::Redisson | Kind::RedissonReadWrite => false,
        }
    }
}

fn redisson(said: &Said<'_>, publish: Publish) -> Maker {
    let reentrant = !said.is("kind", "fair-non-reentrant");
    match said.redisson_kind() {
        Some(kind) => Arc::new(move |key, lease| Arc::new(Mutex::new(key, lease).kind(kind).publish(publish))),
        None => Arc::new(move |key, lease| {
            let fair = Fair::new(key, lease).publish(publish);
            Arc::new(if reentrant { fair } else { fair.non_reentrant() })
        }),
    }
}

fn is_token(value: &[u8]) -> bool {
    value.len() == 32 && value.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte))
}
