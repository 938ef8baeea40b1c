//! Python.

use core::time::Duration;

use super::margin::ONE_SECOND;
use super::redis_page::SETNX_PAGE;
use crate::{
    Absent, Candidate, Check, Claim, Dialect, Digits, Family, Form, Judged, KeyName, Language, Lifetime, Limit, Look,
    Missing, Now, OldNil, Part, Pause, Presence, Reader, Release, Retry, Rule, Script, Stamp, Takeover, Test, Ttl,
    Unit, Verdict, Watch,
};

pub(super) const ROWS: &[&Dialect] = &[
    &REDIS_PY_2_0,
    &REDIS_PY_2_2,
    &REDIS_PY_2_7,
    &REDIS_PY_2_8,
    &REDIS_PY_2_8_PYTHON_3,
    &REDIS_PY_2_10,
    &REDIS_PY_2_10_LUA,
    &CHRIS_LAMB,
    &CHRIS_LAMB_REPR,
    &REDSET,
    &REDSET_REPR,
    &RETOOLS,
    &RETOOLS_ABSOLUTE_EXPIRE,
    &RETOOLS_EXPIRE,
    &RETOOLS_0_4,
    &REDISCO,
    &REDISCO_TRANSACTION,
    &CELERY_ONCE,
    &PYTHON_RECIPE,
    &PYTHON2_RECIPE_UNCAST,
];

/// The first year: a bare integer.
pub const REDIS_PY_2_0: Dialect = Dialect {
    name: "redis-py-2.0",
    language: Language::Python,
    source: "redis/redis-py, redis/client.py, class Lock, 2010-06 to 2.2.3",
    form: Form::stamp(Stamp::SECONDS),
    look: Some(Look {
        judged: Judged::AtStart,
        absent: Absent::NilOrEmpty,
        missing: Missing::Expired,
        ..Look::expired_if_before(Reader::Python2Long)
    }),
    candidate: Candidate::Same,
    release: Release::IfValue(Check::NotBelowOwn),
    retry: Retry::every_ms(100, Limit::Never),
    ..SETNX_PAGE
};

/// A float of which `str` keeps twelve digits, so that its own lock can be below what it compares it with. The clock is
/// cut to whole seconds; no value is 1, and so expired.
pub const REDIS_PY_2_2: Dialect = Dialect {
    name: "redis-py-2.2",
    also: &["redis-py-2.4", "redis-py-2.6"],
    family: Family::F1,
    source: "redis/redis-py 2.2.4 to 2.6.2, redis/client.py, class Lock",
    form: Form::stamp(Stamp::float_seconds(Now::Floor, Digits::Python2Str)),
    lease_unit: Unit::Nanosecond,
    look: Some(FLOAT_LOOK),
    ..REDIS_PY_2_0
};

/// The float with all its digits.
pub const REDIS_PY_2_7: Dialect = Dialect {
    name: "redis-py-2.7",
    also: &[],
    source: "redis/redis-py 2.7.x, redis/client.py, class Lock",
    form: Form::stamp(Stamp::float_seconds(Now::Floor, Digits::PythonRepr)),
    ..REDIS_PY_2_2
};

/// The clock with its fraction as well.
pub const REDIS_PY_2_8: Dialect = Dialect {
    name: "redis-py-2.8",
    also: &["redis-py-2.9"],
    source: "redis/redis-py 2.8.0 to 2.9.1, redis/client.py, class Lock; Python 2",
    form: Form::stamp(Stamp::float_seconds(Now::MicrosFloat, Digits::PythonRepr)),
    ..REDIS_PY_2_7
};

/// On Python 3, whose clock counts nanoseconds: the float has a digit more.
pub const REDIS_PY_2_8_PYTHON_3: Dialect = Dialect {
    name: "redis-py-2.8-python3",
    also: &["redis-py-2.9-python3"],
    source: "redis/redis-py 2.8.0 to 2.9.1, redis/client.py, class Lock; Python 3",
    form: Form::stamp(Stamp::float_seconds(Now::Float, Digits::PythonRepr)),
    look: Some(Look { reader: Reader::Python3Float, ..FLOAT_LOOK }),
    ..REDIS_PY_2_8
};

/// The successor, `StrictRedis.lock(..., lock_class=Lock)`: 32 hex digits by SETNX and then PEXPIRE. Its release watches
/// the key but deletes it outside a transaction.
pub const REDIS_PY_2_10: Dialect = Dialect {
    name: "redis-py-2.10",
    also: &[],
    family: Family::E0,
    source: "redis/redis-py 2.10.0 (2014-06-01) to 2.10.6, redis/lock.py, class Lock",
    form: Form::unstamped(&[Part::Hex]),
    lease_unit: Unit::Millisecond,
    look: None,
    takeover: Takeover::Never,
    ttl: Ttl { claimed: Lifetime::Pexpire, ..Ttl::NONE },
    release: Release::IfEqualUnderWatch,
    ..REDIS_PY_2_8
};

/// What `StrictRedis.lock` hands out where the server has scripts: the same steps by EVALSHA, and its release compares and
/// deletes in one.
pub const REDIS_PY_2_10_LUA: Dialect = Dialect {
    name: "redis-py-2.10-lua",
    source: "redis/redis-py 2.10.0 (2014-06-01) to 2.10.6, redis/lock.py, class LuaLock",
    claim: Claim::SetnxPexpireScript,
    ttl: Ttl::NONE,
    release: Release::Script(Script::RedisPy),
    ..REDIS_PY_2_10
};

const FLOAT_LOOK: Look = Look {
    judged: Judged::AtStart,
    absent: Absent::NilOrEmpty,
    missing: Missing::Expired,
    ..Look::expired_if_before(Reader::Python2Float)
};

/// The recipe of 2010 and its copies, over a redis-py that prints floats by `str`.
pub const CHRIS_LAMB: Dialect = Dialect {
    name: "chris-lamb",
    family: Family::F2,
    language: Language::Python,
    source: "Chris Lamb, \"Distributing locking with Python and Redis\", 2010-06-07; redis-py to 2.6",
    form: Form::stamp(Stamp::float_seconds(Now::MicrosFloat, Digits::Python2Str).plus(ONE_SECOND)),
    lease_unit: Unit::Nanosecond,
    look: Some(Look { absent: Absent::NilOrEmpty, ..Look::expired_if_before(Reader::Python2Float) }),
    takeover: Takeover::Getset(Verdict::SAME_BYTES),
    candidate: Candidate::Same,
    release: Release::Del,
    retry: Retry::every_ms(1_000, Limit::Total(Duration::from_secs(10))),
    ..SETNX_PAGE
};

/// The recipe over a redis-py that prints floats by `repr`.
pub const CHRIS_LAMB_REPR: Dialect = Dialect {
    name: "chris-lamb-repr",
    source: "Chris Lamb, \"Distributing locking with Python and Redis\", 2010-06-07; redis-py from 2.7",
    form: Form::stamp(Stamp::float_seconds(Now::MicrosFloat, Digits::PythonRepr).plus(ONE_SECOND)),
    ..CHRIS_LAMB
};

/// The recipe without a margin, and with a hundredth of slack for the digits that `str` cuts off.
pub const REDSET: Dialect = Dialect {
    name: "redset",
    source: "percolate/redset from 0.3 (528bf34, 2013-10-12), redset/locks.py; redis-py to 2.6",
    form: Form::stamp(Stamp::float_seconds(Now::MicrosFloat, Digits::Python2Str)),
    look: Some(Look {
        absent: Absent::NilOrEmpty,
        slack: Duration::from_millis(10),
        ..Look::expired_if_before(Reader::Python2Float)
    }),
    retry: Retry::every_ms(200, Limit::Total(Duration::from_secs(10))),
    ..CHRIS_LAMB
};

/// The same over a redis-py that prints floats by `repr`.
pub const REDSET_REPR: Dialect = Dialect {
    name: "redset-repr",
    source: "percolate/redset from 0.3 (528bf34, 2013-10-12), redset/locks.py; redis-py from 2.7",
    form: Form::stamp(Stamp::float_seconds(Now::MicrosFloat, Digits::PythonRepr)),
    ..REDSET
};

/// The recipe, and a DEL only within the lease.
pub const RETOOLS: Dialect = Dialect {
    name: "retools",
    source: "bbangert/retools 0.1, retools/lock.py, before 40453cd (2012-01-10)",
    release: Release::WithinLease,
    ..CHRIS_LAMB
};

/// For four months with an EXPIRE that was given the stamp: a TTL of decades.
pub const RETOOLS_ABSOLUTE_EXPIRE: Dialect = Dialect {
    name: "retools-absolute-expire",
    source: "bbangert/retools 0.2, retools/lock.py, ba6de15 (2012-01-16) to b817891 (2012-05-02)",
    ttl: Ttl::when_won(Lifetime::ExpireByMoment),
    ..RETOOLS
};

/// Then with one that was given the lease.
pub const RETOOLS_EXPIRE: Dialect = Dialect {
    name: "retools-expire",
    source: "bbangert/retools 0.3, retools/lock.py, b817891 (2012-05-02) to 4285b92 (2013-04-24)",
    ttl: Ttl::when_won(Lifetime::Expire),
    ..RETOOLS
};

/// Then a token, by scripts. The lease is whole seconds.
pub const RETOOLS_0_4: Dialect = Dialect {
    name: "retools-0.4",
    source: "bbangert/retools 0.4 and 0.4.1, retools/lock.py, from 4285b92 (2013-04-24)",
    lease_unit: Unit::Second,
    claim: Claim::RetoolsScript,
    release: Release::Script(Script::Retools),
    retry: RETOOLS.retry,
    ..REDIS_PY_2_10_LUA
};

/// A port of Ohm's lock, with six decimals. The lease is a second.
pub const REDISCO: Dialect = Dialect {
    name: "redisco",
    family: Family::F1,
    source: "kiddouk/redisco before f96b30f (2012-08-24), 0.1.4 among them, redisco/models/base.py, class Mutex",
    key: KeyName::suffixed(":_lock"),
    form: Form::stamp(Stamp::float_seconds(Now::MicrosFloat, Digits::Fixed6)),
    look: Some(Look {
        absent: Absent::NilOrEmpty,
        missing: Missing::ClaimAgain,
        ..Look::expired_if_before(Reader::Python2Float)
    }),
    takeover: Takeover::Getset(Verdict::STILL_EXPIRED),
    candidate: Candidate::Fresh,
    retry: Retry::every_ms(500, Limit::Never),
    ..CHRIS_LAMB
};

/// WATCH, EXISTS, and a transaction around SET. What it judges it reads on another connection, here on the same. A key
/// that disappears between EXISTS and GET raised an error until 2016-05-16 (953e285), and counts as expired since; here,
/// always. It polls without a pause.
pub const REDISCO_TRANSACTION: Dialect = Dialect {
    name: "redisco-transaction",
    family: Family::F3,
    source: "kiddouk/redisco from f96b30f (2012-08-24), redisco/models/base.py, class Mutex",
    claim: Claim::None,
    look: Some(Look {
        presence: Presence::ExistsThenGet,
        watch: Watch::NeverEnded,
        missing: Missing::Expired,
        ..Look::expired_if_before(Reader::Python2Float)
    }),
    takeover: Takeover::WatchedSet,
    retry: Retry { pause: Pause::None, limit: Limit::Never },
    ..REDISCO
};

/// GET, and SETEX unless `int(value) - now > 0`: two clients can both pass.
pub const CELERY_ONCE: Dialect = Dialect {
    name: "celery-once",
    family: Family::W1,
    language: Language::Python,
    source: "cameronmaske/celery-once 0.1 to 1.3.0, celery_once/tasks.py, celery_once/backends/redis.py",
    key: KeyName::prefixed("qo_"),
    form: Form::stamp(Stamp::SECONDS),
    claim: Claim::None,
    look: Some(Look {
        judged: Judged::AtStart,
        absent: Absent::NilOrEmpty,
        missing: Missing::Expired,
        test: Test::LiveIfAfter,
        ..Look::expired_if_before(Reader::Python2Int)
    }),
    takeover: Takeover::Setex,
    candidate: Candidate::Same,
    release: Release::Del,
    retry: Retry::NONE,
    ..SETNX_PAGE
};

/// `time.time() > float(get) and time.time() > float(getset)`; `float(None)` raises. Its release deletes any lock that is
/// not over yet.
pub const PYTHON_RECIPE: Dialect = Dialect {
    name: "python-recipe",
    family: Family::F1,
    source: "a recipe of many Python projects; Python 3",
    form: Form::stamp(Stamp::float_seconds(Now::Float, Digits::PythonRepr).plus(ONE_SECOND)),
    look: Some(Look {
        judged: Judged::BeforeAsking,
        missing: Missing::Raises,
        ..Look::expired_if_before(Reader::Python3Float)
    }),
    takeover: Takeover::Getset(Verdict { rule: Rule::StillExpired, old_nil: OldNil::Raises }),
    release: Release::IfValue(Check::Ahead),
    retry: Retry::every_ms(300, Limit::Never),
    ..CHRIS_LAMB
};

/// The recipe without `float(...)` on Python 2, where every string is above every number: an expired lock is never taken.
/// `None` is below every number, and so taken.
pub const PYTHON2_RECIPE_UNCAST: Dialect = Dialect {
    name: "python2-recipe-uncast",
    source: "a recipe of many Python projects; Python 2, without a cast",
    form: Form::stamp(Stamp::float_seconds(Now::MicrosFloat, Digits::PythonRepr).plus(ONE_SECOND)),
    look: Some(Look {
        judged: Judged::BeforeAsking,
        missing: Missing::Expired,
        ..Look::expired_if_before(Reader::Python2Uncast)
    }),
    takeover: Takeover::Getset(Verdict::STILL_EXPIRED),
    release: Release::Del,
    ..PYTHON_RECIPE
};
