//! Java, beside the articles.

use super::margin::ONE_MS;
use super::redis_page::SETNX_PAGE;
use crate::{
    Absent, Candidate, Check, Dialect, Family, Form, Language, Lifetime, Limit, Look, Missing, OldNil, Part, Reader,
    Release, Retry, Rule, Stamp, Takeover, Ttl, Unit, Unreadable, Verdict,
};

pub(super) const ROWS: &[&Dialect] = &[
    &JEDIS_LOCK,
    &JEDIS_LOCK_2015,
    &SPRING_REDIS_CALLBACK,
    &SPRING_REDIS_CALLBACK_STRING,
    &SELL_REDIS_LOCK,
    &ZCR_REDIS_LOCK,
    &AUTO_LOAD_CACHE,
];

/// Milliseconds, equality with what was read, DEL by a flag. Copied into very many projects.
pub const JEDIS_LOCK: Dialect = Dialect {
    name: "jedis-lock",
    family: Family::M1,
    language: Language::Java,
    source: "abelaska/jedis-lock 1.0.0 (5989cdd, 2011-05-15), src/main/java/com/github/jedis/lock/JedisLock.java",
    form: Form::stamp(Stamp::MILLIS.plus(ONE_MS)),
    lease_unit: Unit::Millisecond,
    look: Some(Look::expired_if_before(Reader::JavaParseLong)),
    takeover: Takeover::Getset(Verdict::SAME_BYTES),
    candidate: Candidate::Same,
    release: Release::Del,
    retry: Retry::every_ms(100, Limit::Total(core::time::Duration::from_secs(10))),
    ..SETNX_PAGE
};

/// `uuid:ms`. What is not of that form counts as expired, nil too, and so does a value with the own uuid: a loser, whose
/// GETSET has put its own uuid there, walks in beside the winner on its next lap.
pub const JEDIS_LOCK_2015: Dialect = Dialect {
    name: "jedis-lock-2015",
    family: Family::X2,
    source: "abelaska/jedis-lock, JedisLock.java, from 8a54e1e (2015-07-15), never released",
    form: Form::of(&[Part::Uuid, Part::Text(":"), Part::Stamp], Stamp::MILLIS.plus(ONE_MS)),
    look: Some(Look {
        missing: Missing::Expired,
        unreadable: Unreadable::Expired,
        mine_is_free: true,
        ..Look::expired_if_before(Reader::JavaUuidLong)
    }),
    ..JEDIS_LOCK
};

/// Raw bytes on acquire, `redisTemplate.delete(key)` on release, which serialises the key: the DEL goes elsewhere and
/// the lock lives until its stamp expires. A GETSET that returns nil is a `NullPointerException`.
pub const SPRING_REDIS_CALLBACK: Dialect = Dialect {
    name: "spring-redis-callback",
    family: Family::M2,
    source: "the RedisCallback template of very many Spring projects, with a default RedisTemplate",
    takeover: Takeover::Getset(Verdict { rule: Rule::StillExpired, old_nil: OldNil::Raises }),
    release: Release::DelSerializedKey,
    retry: Retry { pause: crate::Pause::None, limit: Limit::Caller },
    ..JEDIS_LOCK
};

/// The same where the template's keys are plain strings, and the DEL arrives.
pub const SPRING_REDIS_CALLBACK_STRING: Dialect = Dialect {
    name: "spring-redis-callback-string",
    source: "the RedisCallback template of very many Spring projects, with a StringRedisTemplate",
    release: Release::Del,
    ..SPRING_REDIS_CALLBACK
};

/// The value is its caller's, which should pass now plus the lease; GET equal to it before DEL.
pub const SELL_REDIS_LOCK: Dialect = Dialect {
    name: "sell-redis-lock",
    source: "RedisLock of the imooc \"sell\" course and its copies, with StringRedisTemplate",
    form: Form::stamp(Stamp::MILLIS),
    look: Some(Look { absent: Absent::NilOrEmpty, ..Look::expired_if_before(Reader::JavaParseLong) }),
    release: Release::IfValue(Check::Equal),
    retry: Retry::NONE,
    ..JEDIS_LOCK
};

/// PEXPIRE after SETNX even where that has failed: every waiter prolongs the holder's TTL.
pub const ZCR_REDIS_LOCK: Dialect = Dialect {
    name: "0201zcr-redis-lock",
    source: "0201zcr's copy of jedis-lock",
    ttl: Ttl { refused: Lifetime::Pexpire, ..Ttl::when_won(Lifetime::Pexpire) },
    release: Release::IfValue(Check::Present),
    ..JEDIS_LOCK
};

/// EXPIRE after SETNX, but not after GETSET, which drops the TTL. Released within the lease.
pub const AUTO_LOAD_CACHE: Dialect = Dialect {
    name: "auto-load-cache",
    family: Family::M2,
    source: "qiujiayu/AutoLoadCache, AbstractRedisLock.java, df7d806 (2017-07-24) to 3f1eab2 (2018-12-10); then SET NX EX",
    lease_unit: Unit::Second,
    takeover: Takeover::Getset(Verdict { rule: Rule::StillExpired, old_nil: OldNil::Loses }),
    ttl: Ttl { claimed: Lifetime::Expire, ..Ttl::NONE },
    release: Release::WithinLease,
    retry: Retry::NONE,
    ..JEDIS_LOCK
};
