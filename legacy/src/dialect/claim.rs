//! The first command of an attempt.

use alloc::format;
use alloc::string::String;
use core::fmt;

/// The first command of an attempt, which acquires the lock if it is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Claim {
    /// `SETNX key value`.
    Setnx,
    /// `SET key value NX`, without a TTL.
    SetNx,
    /// `SET key value NX EX lease` in whole seconds.
    SetNxEx(Words),
    /// `SET key value NX PX lease` in milliseconds.
    SetNxPx(Words),
    /// `SET key value NX EX lease` where the lease is whole seconds, else `NX PX`: go-redis' `SetNX` with an expiration.
    SetNxExOrPx(Words),
    /// `EXISTS key`, then `SET key value` if it does not exist: two steps, between which another client can do the same.
    ExistsThenSet,
    /// One Lua script that runs SETNX and then EXPIRE: the Java article's, which answers `true` or `false`.
    SetnxExpireScript,
    /// One Lua script that runs SETNX and then EXPIRE: that of retools, which answers what SETNX answered.
    RetoolsScript,
    /// One Lua script that runs SETNX and then PEXPIRE: `LuaLock` of redis-py.
    SetnxPexpireScript,
    /// None: the attempt begins with a look at the key, or overwrites it.
    None,
}

/// The order of SET's words, which differs between client libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Words {
    /// `NX EX lease`: Jedis.
    NxFirst,
    /// `EX lease NX`: redis-rb, redis-py, go-redis, StackExchange.Redis, and most prose.
    ExpiryFirst,
}

/// Where owner and stamp are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keys {
    /// In one key.
    One,
    /// The owner in `lock:owner:NAME`, the stamp in `lock:expire:NAME`, both set by MSETNX and judged under WATCH.
    OwnerAndExpiry,
}

impl Keys {
    /// How the key with the stamp begins where it is not the key with the owner.
    pub const EXPIRY_PREFIX: &'static str = "lock:expire:";
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setnx => f.write_str("SETNX"),
            Self::SetNx => f.write_str("SET NX"),
            Self::SetNxEx(words) => write!(f, "SET {}", words.around("EX")),
            Self::SetNxPx(words) => write!(f, "SET {}", words.around("PX")),
            Self::SetNxExOrPx(words) => {
                write!(f, "SET {}, or {} for fractions of a second", words.around("EX"), words.around("PX"))
            }
            Self::ExistsThenSet => f.write_str("EXISTS, SET"),
            Self::SetnxExpireScript | Self::RetoolsScript => f.write_str("EVALSHA of SETNX and EXPIRE"),
            Self::SetnxPexpireScript => f.write_str("EVALSHA of SETNX and PEXPIRE"),
            Self::None => f.write_str("none"),
        }
    }
}

impl Words {
    fn around(self, expiry: &str) -> String {
        match self {
            Self::NxFirst => format!("NX {expiry}"),
            Self::ExpiryFirst => format!("{expiry} NX"),
        }
    }
}
