//! The Jedis article, "Redis series (13): distributed locks": the ancestors it begins with, and its own class.

use super::java_article::JAVA_SETNX_EXPIRE;
use crate::{Check, Claim, Dialect, Family, Form, Language, Part, Release, Script, Ttl, Words};

pub(super) const ROWS: &[&Dialect] =
    &[&NAIVE_EXISTS_SET, &NAIVE_SETNX, &NAIVE_SET_EX_NX, &NAIVE_CHECK_DEL, &REDIS_DISTRIBUTED_LOCK];

/// EXISTS, SET 1, DEL: two clients can both find no key.
pub const NAIVE_EXISTS_SET: Dialect = Dialect {
    name: "naive-exists-set",
    also: &[],
    language: Language::Prose,
    source: "Jedis article, \"simple idea\"",
    claim: Claim::ExistsThenSet,
    ttl: Ttl::NONE,
    ..JAVA_SETNX_EXPIRE
};

/// SETNX, DEL: a holder that dies keeps the lock for ever.
pub const NAIVE_SETNX: Dialect =
    Dialect { name: "naive-setnx", source: "Jedis article, \"atomicity\"", claim: Claim::Setnx, ..NAIVE_EXISTS_SET };

/// `SET key 1 EX lease NX`, DEL: a holder that overruns deletes the next one's lock.
pub const NAIVE_SET_EX_NX: Dialect = Dialect {
    name: "naive-set-ex-nx",
    source: "Jedis article, \"atomicity again\"",
    claim: Claim::SetNxEx(Words::ExpiryFirst),
    ..NAIVE_EXISTS_SET
};

/// The same with a random value, and GET before DEL: between the two, the lock can change hands.
pub const NAIVE_CHECK_DEL: Dialect = Dialect {
    name: "naive-check-del",
    source: "Jedis article, \"deleted by mistake\"",
    form: Form::unstamped(&[Part::Uuid]),
    release: Release::IfValue(Check::Equal),
    ..NAIVE_SET_EX_NX
};

/// The article's class, one lock of it: `SET key uuid NX EX lease`, released by a script whose answer it ignores. The
/// re-entrance and the renewal of the class are left out.
pub const REDIS_DISTRIBUTED_LOCK: Dialect = Dialect {
    name: "redis-distributed-lock",
    family: Family::E0,
    language: Language::Java,
    source: "Jedis article, class RedisDistributedLock",
    claim: Claim::SetNxEx(Words::NxFirst),
    release: Release::Script(Script::Jedis),
    ..NAIVE_CHECK_DEL
};
