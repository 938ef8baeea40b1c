//! The first command of a try.

/// The first command of a try, which takes the lock if it is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Claim {
    /// `SETNX key value`.
    Setnx,
    /// `SET key value NX EX lease` in whole seconds.
    SetNxEx(Words),
    /// `SET key value NX PX lease` in milliseconds.
    SetNxPx(Words),
    /// `SET key value NX EX lease` where the lease is whole seconds, else `NX PX`: go-redis' `SetNX` with an expiration.
    SetNxExOrPx(Words),
    /// `EXISTS key`, then `SET key value` where there is none: two steps between which another can do the same.
    ExistsThenSet,
    /// One Lua script that runs SETNX and then EXPIRE.
    SetnxExpireScript,
    /// None: the key is looked at, or overwritten, at once.
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
