//! The modern locks as rows: name, source, content of the key, options, and the lock that they create.

mod holder;
mod options;

use std::sync::Arc;

use self::holder::Layout;
use super::maker::Maker;
use super::setting::{Setting, Values};
use crate::bridge::new_key;
use crate::lock::Mode;
use crate::modern::redisson::{Fair, Mutex, ReadWrite};
use crate::modern::{
    FairLock, FencedTokenLock, PairLock, ReadWriteLock, Redlock, ReentrantLock, Semaphore, StampHashLock, TokenLock,
};

pub use self::holder::Holder;
pub(super) use self::options::{Options, SERVERS};

/// A modern lock. A new lock needs a row here and a file of its own.
#[derive(Debug)]
pub(super) struct Modern {
    pub(super) name: &'static str,
    pub(super) source: &'static str,
    pub(super) encoding: &'static str,
    /// Its options and their values.
    pub(super) settings: &'static [Setting],
    shape: ValueShape,
    /// Creates the lock from its options.
    pub(super) maker: fn(&Options<'_>) -> Maker,
}

/// The content of a lock's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueShape {
    /// A string: 32 hex digits that name one acquisition.
    Token,
    /// The string `1`.
    One,
    /// A hash with this layout.
    Hash(Layout),
    /// A sorted set of such tokens.
    Members,
}

/// The type of a lock's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyType {
    /// A string.
    String,
    /// A hash.
    Hash,
    /// A sorted set.
    SortedSet,
}

impl KeyType {
    /// The reply to TYPE.
    pub fn redis_name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Hash => "hash",
            Self::SortedSet => "zset",
        }
    }
}

/// A name is given once.
impl PartialEq for Modern {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Modern {}

/// The sides of a read/write lock.
pub(super) const SIDE: Setting = Setting::of("side", &["writer", "reader"]);
/// The number of holders at once.
pub(super) const PERMITS: Setting = Setting { name: "permits", values: Values::UpTo(1000) };
const ANNOUNCED: Setting = Setting::of("announce", &["none", "publish", "spublish"]);
const ANNOUNCE: Setting = Setting::of("announce", &["publish", "spublish"]);

/// All modern locks.
pub(super) const ROWS: &[Modern] = &[
    Modern {
        name: "token",
        source: "Redis documentation, \"Distributed Locks with Redis\", and SET, \"Patterns\"",
        encoding: "<hex>",
        settings: &[
            Setting::of("expiry", &["px", "ex", "pxat", "exat", "none"]),
            Setting::of("key", &["same", "sibling"]),
            Setting::of("native", &["none", "redis-8.4", "valkey-8.1", "valkey-9.0"]),
            ANNOUNCED,
        ],
        shape: ValueShape::Token,
        maker: token,
    },
    Modern {
        name: "fair",
        source: "lockshift: a token lock with a queue, first come, first served",
        encoding: "<hex>; the queue in {key}:queue and {key}:places",
        settings: &[ANNOUNCE],
        shape: ValueShape::Token,
        maker: fair,
    },
    Modern {
        name: "token-fenced",
        source: "Martin Kleppmann, \"How to do distributed locking\"",
        encoding: "<hex>; a counter in {key}:fence",
        settings: &[],
        shape: ValueShape::Token,
        maker: token_fenced,
    },
    Modern {
        name: "reentrant",
        source: "\"Distributed lock by Redis\", re-entrant lock (hash and Lua)",
        encoding: "hash of <uuid>:<thread>: decimal count",
        settings: &[Setting::of("fence", &["no", "yes"])],
        shape: ValueShape::Hash(Layout::OwnerOrThread),
        maker: reentrant,
    },
    Modern {
        name: "redlock",
        source: "Redis documentation, \"Distributed Locks with Redis\", \"The Redlock Algorithm\"",
        encoding: "<hex>, on most of several servers",
        settings: &[SERVERS],
        shape: ValueShape::Token,
        maker: redlock,
    },
    Modern {
        name: "read-write",
        source: "lockshift: an entry and a lease for every reader",
        encoding: "<hex>; readers as members of {key}:readers",
        settings: &[SIDE],
        shape: ValueShape::Token,
        maker: read_write,
    },
    Modern {
        name: "semaphore",
        source: "lockshift: a number of permits, each with a lease",
        encoding: "sorted set of <hex>: the server's ms at which its lease ends",
        settings: &[PERMITS, ANNOUNCED],
        shape: ValueShape::Members,
        maker: semaphore,
    },
    Modern {
        name: "rw-pair",
        source: "\"Redis distributed read/write lock\", single-instance version",
        encoding: "\"1\" in a key for all readers, \"1\" in {key}:writer",
        settings: &[SIDE],
        shape: ValueShape::One,
        maker: rw_pair,
    },
    Modern {
        name: "rw-stamps",
        source: "\"Redis distributed read/write lock\", cluster version",
        encoding: "hash of read and write: decimal ms, now",
        settings: &[SIDE],
        shape: ValueShape::Hash(Layout::Stamps),
        maker: rw_stamps,
    },
    Modern {
        name: "redisson",
        source: "redisson/redisson 4.7.0, getLock, getFencedLock, getSpinLock, getFairLock",
        encoding: "hash of <uuid>:<thread>: decimal count",
        settings: &[Setting::of("kind", options::REDISSON_KINDS), ANNOUNCE],
        shape: ValueShape::Hash(Layout::Owner),
        maker: redisson,
    },
    Modern {
        name: "redisson-rw",
        source: "redisson/redisson 4.7.0, getReadWriteLock",
        encoding: "hash of mode: read or write, <uuid>:<thread>[:write]: decimal count",
        settings: &[SIDE, ANNOUNCE],
        shape: ValueShape::Hash(Layout::ModeAndOwners),
        maker: redisson_rw,
    },
];

impl Modern {
    /// Whether it could have written this string.
    pub(super) fn could_write(&self, value: &[u8]) -> bool {
        match self.shape {
            ValueShape::Token => is_hex_token(value),
            ValueShape::One => value == b"1",
            ValueShape::Hash(_) | ValueShape::Members => false,
        }
    }

    /// The holders, if it could have written these fields, or these members with their scores.
    pub(super) fn holders(&self, fields: &[(Vec<u8>, Vec<u8>)]) -> Option<Vec<Holder>> {
        match self.shape {
            ValueShape::Hash(layout) => layout.holders(fields),
            ValueShape::Members => holder::permits(fields, is_hex_token),
            ValueShape::Token | ValueShape::One => None,
        }
    }

    /// The type of its key.
    pub(super) fn key_type(&self) -> KeyType {
        match self.shape {
            ValueShape::Token | ValueShape::One => KeyType::String,
            ValueShape::Hash(_) => KeyType::Hash,
            ValueShape::Members => KeyType::SortedSet,
        }
    }

    /// Whether it acquires on a key of another type: the reader of an article's lock overwrites what it has not looked at.
    pub(super) fn mistakes_types(&self, options: &Options<'_>) -> bool {
        self.shape == ValueShape::One && options.mode() == Mode::Shared
    }

    /// Whether the string that it writes names its owner.
    pub(super) fn names_owner(&self) -> bool {
        self.shape == ValueShape::Token
    }
}

fn token(options: &Options<'_>) -> Maker {
    let (timing, native, announced) = (options.timing(), options.native(), options.announced());
    let on_sibling = options.is("key", "sibling");
    Arc::new(move |key, lease| {
        let key = if on_sibling { new_key(&key) } else { key };
        let lock = TokenLock::new(key, lease).timed(timing).native(native);
        Arc::new(announced.map_or(lock.clone(), |publish| lock.announced(publish)))
    })
}

fn fair(options: &Options<'_>) -> Maker {
    let publish = options.publish();
    Arc::new(move |key, lease| Arc::new(FairLock::new(key, lease).announced(publish)))
}

fn token_fenced(_: &Options<'_>) -> Maker {
    Arc::new(|key, lease| Arc::new(FencedTokenLock::new(key, lease)))
}

fn reentrant(options: &Options<'_>) -> Maker {
    let is_fenced = options.is("fence", "yes");
    Arc::new(move |key, lease| {
        let lock = ReentrantLock::new(key, lease);
        Arc::new(if is_fenced { lock.fenced() } else { lock })
    })
}

fn redlock(options: &Options<'_>) -> Maker {
    let servers = options.servers();
    Arc::new(move |key, lease| Arc::new(Redlock::new(key, lease, servers)))
}

fn read_write(options: &Options<'_>) -> Maker {
    let mode = options.mode();
    Arc::new(move |key, lease| Arc::new(ReadWriteLock::new(key, mode, lease)))
}

fn semaphore(options: &Options<'_>) -> Maker {
    let (permits, announced) = (options.permits(), options.announced());
    Arc::new(move |key, lease| {
        let lock = Semaphore::new(key, permits, lease);
        Arc::new(announced.map_or(lock.clone(), |publish| lock.announced(publish)))
    })
}

fn rw_pair(options: &Options<'_>) -> Maker {
    let mode = options.mode();
    Arc::new(move |key, lease| {
        let writer = key.sibling("writer");
        Arc::new(PairLock::new(key, writer, mode, lease))
    })
}

fn rw_stamps(options: &Options<'_>) -> Maker {
    let mode = options.mode();
    Arc::new(move |key, lease| Arc::new(StampHashLock::new(key, mode, lease, lease)))
}

fn redisson(options: &Options<'_>) -> Maker {
    let publish = options.publish();
    let reentrant = !options.is("kind", "fair-non-reentrant");
    match options.redisson_kind() {
        Some(kind) => Arc::new(move |key, lease| Arc::new(Mutex::new(key, lease).kind(kind).publish(publish))),
        None => Arc::new(move |key, lease| {
            let fair = Fair::new(key, lease).publish(publish);
            Arc::new(if reentrant { fair } else { fair.non_reentrant() })
        }),
    }
}

fn redisson_rw(options: &Options<'_>) -> Maker {
    let (mode, publish) = (options.mode(), options.publish());
    Arc::new(move |key, lease| Arc::new(ReadWrite::new(key, mode, lease).publish(publish)))
}

fn is_hex_token(value: &[u8]) -> bool {
    value.len() == 32 && value.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte))
}
