//! Ruby, beside the resque plugins.
//!
//! Not a row: robust-redis-lock (promiscuous-io, to 1.3.1) keeps a hash `redis:lock:NAME` of `expires_at`, `token` and
//! `recovery_data`, an index of all locks and a counter, and judges them by Lua scripts of its own. No client of a string
//! shares a key with it: each ends with WRONGTYPE.

use core::time::Duration;

use super::margin::ONE_SECOND;
use super::redis_page::SETNX_PAGE;
use crate::{
    Candidate, Check, Claim, Clock, Dialect, Digits, Family, Form, Judged, KeyName, Keys, Language, Lifetime, Limit,
    Look, LookOrder, Missing, Now, OldNil, Part, Reader, Release, Retry, Rule, Stamp, Takeover, Test, Ttl, Unit,
    Verdict, Words,
};

pub(super) const ROWS: &[&Dialect] = &[
    &OHM_LOCK,
    &REDIS_OBJECTS,
    &REDIS_OBJECTS_WITHOUT_EXPIRATION,
    &REDIS_OBJECTS_1_4_2,
    &REDIS_OBJECTS_1_4_3,
    &REDIS_MUTEX,
    &REDIS_MUTEX_4_0_0,
    &REDIS_MUTEX_2_1_1,
    &REDIS_MUTEX_2_0,
    &REDIS_MUTEX_0,
    &REDIS_SEMAPHORE,
    &REDIS_LOCK_GEM,
    &REDIS_LOCK_GEM_0_1,
    &QTRIX,
    &REDIS_CAVE_KEEPER,
    &MLANETT_REDIS_LOCK,
    &REDIS_GETLOCK,
    &REDIS_GETLOCK_OLD_SERVER,
];

/// `lock!` of Ohm 0.x; the lease is always half a second. A lock that vanishes before GETSET is won by it.
pub const OHM_LOCK: Dialect = Dialect {
    name: "ohm-lock",
    family: Family::F1,
    language: Language::Ruby,
    source: "soveran/ohm 0.0.32 (0273623, 2009-12-06) to 0.1.x (before 7641976, 2011-10-31), lib/ohm.rb, Model#lock!",
    key: KeyName::suffixed(":_lock"),
    form: Form::stamp(Stamp::float_seconds(Now::Float, Digits::RubyToS)),
    lease_unit: Unit::Nanosecond,
    look: Some(Look { missing: Missing::ClaimAgain, ..Look::expired_if_before(Reader::RubyToF) }),
    release: Release::Del,
    retry: Retry::every_ms(100, Limit::Never),
    ..SETNX_PAGE
};

/// With `:expiration`. No value is `nil.to_f`, 0.0, and so expired.
pub const REDIS_OBJECTS: Dialect = Dialect {
    name: "redis-objects",
    source: "nateware/redis-objects 0.2.4 (01c526c, 2010-02-15) to 1.4.1, lib/redis/lock.rb",
    key: KeyName::PLAIN,
    form: Form::stamp(Stamp::float_seconds(Now::Exact, Digits::RubyToS).plus(ONE_SECOND)),
    look: Some(Look { missing: Missing::Expired, ..Look::expired_if_before(Reader::RubyToF) }),
    release: Release::WhileStampAhead { or_equal: false, grace: Duration::ZERO },
    retry: Retry::every_ms(100, Limit::Total(Duration::from_secs(5))),
    ..OHM_LOCK
};

/// Without `:expiration`: "1", which its own clients with one read as long expired.
pub const REDIS_OBJECTS_WITHOUT_EXPIRATION: Dialect = Dialect {
    name: "redis-objects-without-expiration",
    family: Family::N0,
    form: Form::unstamped(&[Part::Text("1")]),
    look: None,
    takeover: Takeover::Never,
    release: Release::Del,
    ..REDIS_OBJECTS
};

/// An empty value under a TTL. What an older client has left is looked at, and overwritten without a comparison if its
/// stamp has expired. The end of the lease is computed a thousand times too late, so the DEL is always sent.
pub const REDIS_OBJECTS_1_4_2: Dialect = Dialect {
    name: "redis-objects-1.4.2",
    family: Family::E0,
    source: "nateware/redis-objects 1.4.2 (9ee0847, 2018-07-09), lib/redis/lock.rb",
    form: Form::unstamped(&[]),
    lease_unit: Unit::Millisecond,
    claim: Claim::SetNxPx(Words::ExpiryFirst),
    look: Some(Look { test: Test::ExpiredIfBeforeAndNotZero, ..Look::expired_if_before(Reader::RubyToF) }),
    takeover: Takeover::SetPx,
    candidate: Candidate::Same,
    release: Release::Del,
    ..REDIS_OBJECTS
};

/// The same with the end of the lease put right.
pub const REDIS_OBJECTS_1_4_3: Dialect = Dialect {
    name: "redis-objects-1.4.3",
    source: "nateware/redis-objects from 1.4.3 (ebba6ad, 2018-10-06), lib/redis/lock.rb",
    release: Release::WithinLease,
    ..REDIS_OBJECTS_1_4_2
};

/// One clock reading per attempt, and the stamp of the first SETNX for every command.
pub const REDIS_MUTEX: Dialect = Dialect {
    name: "redis-mutex",
    source: "kenn/redis-mutex from 4.0.1 (e1bfbc1, 2017-12-15), lib/redis_mutex.rb",
    key: KeyName::prefixed("RedisMutex:"),
    look: Some(MUTEX_LOOK),
    candidate: Candidate::Same,
    release: Release::IfValue(Check::Equal),
    retry: Retry::every_ms(100, Limit::Total(Duration::from_secs(1))),
    ..OHM_LOCK
};

/// GET first: `loop do ... end until old_value = get` is read as `until`, whose condition comes first. Where there is no
/// value, SETNX is sent until it wins.
pub const REDIS_MUTEX_4_0_0: Dialect = Dialect {
    name: "redis-mutex-4.0.0",
    source: "kenn/redis-mutex 4.0.0 (9dc9ce2, 2014-11-23), lib/redis_mutex.rb",
    look: Some(Look { order: LookOrder::LookFirst, ..MUTEX_LOOK }),
    ..REDIS_MUTEX
};

/// The same before the class was renamed, and its keys with it.
pub const REDIS_MUTEX_2_1_1: Dialect = Dialect {
    name: "redis-mutex-2.1.1",
    also: &["redis-mutex-3.0"],
    source: "kenn/redis-mutex 2.1.1 (e5433f3, released 2013-06-19) to 3.0.0, lib/redis/mutex.rb",
    key: KeyName::prefixed("Redis::Mutex:"),
    ..REDIS_MUTEX_4_0_0
};

/// Before that, a missing value was an expired one: the phantom lock of kenn/redis-mutex issue 5.
pub const REDIS_MUTEX_2_0: Dialect = Dialect {
    name: "redis-mutex-2.0",
    also: &["redis-mutex-1.0"],
    source: "kenn/redis-mutex 1.0.0 (10b66a2, 2011-03-01) to 2.1.0, lib/redis/mutex.rb",
    key: KeyName::prefixed("Redis::Mutex:"),
    look: Some(Look { missing: Missing::Expired, ..MUTEX_LOOK }),
    ..REDIS_MUTEX
};

/// Whole seconds, in its first month.
pub const REDIS_MUTEX_0: Dialect = Dialect {
    name: "redis-mutex-0",
    family: Family::S1,
    source: "kenn/redis-mutex 0.x (2011-02), lib/redis/classy/mutex.rb",
    key: KeyName::prefixed("Redis::Classy::Mutex:"),
    form: Form::stamp(Stamp::SECONDS),
    lease_unit: Unit::Second,
    look: Some(Look { missing: Missing::Expired, reader: Reader::RubyToI, ..MUTEX_LOOK }),
    ..REDIS_MUTEX
};

const MUTEX_LOOK: Look = Look {
    judged: Judged::AtStart,
    missing: Missing::ClaimAgain,
    test: Test::LiveIfAfter,
    ..Look::expired_if_before(Reader::RubyToF)
};

/// The mutex inside the semaphore, by the server's clock. Nil is 0.0, and 0.0 equals 0.0. The lease is ten seconds.
pub const REDIS_SEMAPHORE: Dialect = Dialect {
    name: "redis-semaphore",
    family: Family::F2,
    source: "dv/redis-semaphore from 0.3.1 (319760b, 2016-04-17), lib/redis/semaphore.rb, simple_expiring_mutex",
    key: KeyName::around("SEMAPHORE:", ":release_locks"),
    form: Form::stamp(Stamp::float_seconds(Now::Float, Digits::RubyToS).plus(ONE_SECOND)),
    clock: Clock::Server,
    look: Some(Look { judged: Judged::AtStart, missing: Missing::Expired, ..Look::expired_if_before(Reader::RubyToF) }),
    takeover: Takeover::Getset(Verdict {
        rule: Rule::SameNumber { first: Reader::RubyToF, old: Reader::RubyToF },
        old_nil: OldNil::WinsIfAlsoRead,
    }),
    candidate: Candidate::Same,
    release: Release::WhileStampAhead { or_equal: false, grace: ONE_SECOND },
    retry: Retry::NONE,
    ..OHM_LOCK
};

/// `sec-pid-thread`. Nil is 0, and nil equals nil. The gem builds its value once for all its tries, so that one that
/// waits longer than its lease writes an expired stamp; here, every attempt has a fresh one.
pub const REDIS_LOCK_GEM: Dialect = Dialect {
    name: "redis-lock-gem",
    also: &["patrick-tulskie-redis-lock"],
    family: Family::X1,
    language: Language::Ruby,
    source: "PatrickTulskie/redis-lock from 0.2.0 (7c503f7, 2014-05-17), lib/redis/lock.rb",
    key: KeyName::prefixed("lock:"),
    form: Form::of(
        &[Part::Stamp, Part::Text("-"), Part::Pid, Part::Text("-"), Part::Thread],
        Stamp::SECONDS.plus(ONE_SECOND),
    ),
    look: Some(Look { missing: Missing::Expired, ..Look::expired_if_before(Reader::RubyBeforeDash) }),
    takeover: Takeover::Getset(Verdict { rule: Rule::SameBytes, old_nil: OldNil::WinsIfAlsoRead }),
    candidate: Candidate::Same,
    release: Release::IfValue(Check::MineAndAhead),
    retry: Retry::every_ms(1_000, Limit::Tries(100)),
    ..SETNX_PAGE
};

/// `sec-pid`: every thread of the process can release it.
pub const REDIS_LOCK_GEM_0_1: Dialect = Dialect {
    name: "redis-lock-gem-0.1",
    also: &[],
    source: "PatrickTulskie/redis-lock 0.1.x (8596097, 2011-01-16), lib/redis/lock.rb",
    form: Form::of(&[Part::Stamp, Part::Text("-"), Part::Pid], Stamp::SECONDS.plus(ONE_SECOND)),
    ..REDIS_LOCK_GEM
};

/// By the server's clock, asked anew for every value and every comparison. The lease is five seconds.
pub const QTRIX: Dialect = Dialect {
    name: "qtrix",
    language: Language::Ruby,
    source: "Qtrix from 5842fe6 (2013-10-22), lib/qtrix/locking.rb",
    clock: Clock::Server,
    look: Some(Look { missing: Missing::Expired, ..Look::expired_if_before(Reader::RubyToI) }),
    release: Release::Del,
    retry: Retry::every_ms(100, Limit::Total(Duration::from_secs(10))),
    ..SETNX_PAGE
};

/// `now > value` reads the clock before it asks. The release asks twice, by GET and by GETSET, before it deletes.
pub const REDIS_CAVE_KEEPER: Dialect = Dialect {
    name: "redis-cave-keeper",
    language: Language::Ruby,
    source: "NilsHaldenwang/redis_cave_keeper from 0.1.0 (a38fc91, 2012-03-10), lib/redis_cave_keeper/cave_keeper.rb",
    key: KeyName::prefixed("cave-keeper-lock:"),
    look: Some(Look {
        judged: Judged::BeforeAsking,
        missing: Missing::Expired,
        ..Look::expired_if_before(Reader::RubyToI)
    }),
    release: Release::AfterGetset,
    retry: Retry::NONE,
    ..SETNX_PAGE
};

/// Two keys, by MSETNX and WATCH. The owner is `host:pid` in all versions, unless the caller gives another: inspect and
/// scan recognise it only in a key that begins with `lock:owner:`.
pub const MLANETT_REDIS_LOCK: Dialect = Dialect {
    name: "mlanett-redis-lock",
    family: Family::K2,
    language: Language::Ruby,
    source: "mlanett/redis-lock 0.0.1 (2012-01) to 0.2.7 (45e5f77, 2016-03-03), lib/redis-lock.rb",
    key: KeyName::prefixed("lock:owner:"),
    keys: Keys::OwnerAndExpiry,
    form: Form::unstamped(&[Part::OwnerId]),
    look: Some(Look { judged: Judged::BeforeAsking, ..Look::expired_if_before(Reader::RubyToI) }),
    takeover: Takeover::WatchedSet,
    release: Release::IfEqualWatched,
    retry: Retry::every_ms(125, Limit::Total(Duration::from_secs(10))),
    ..SETNX_PAGE
};

/// `{"uuid":"…","expire_at":"sec"}` by SET NX EX, never looked at; released if the uuid is the own one. Its renewal thread
/// sends SETEX at once, and then every second, even if another client holds the lock; here it sends only the first.
pub const REDIS_GETLOCK: Dialect = Dialect {
    name: "redis-getlock",
    family: Family::J1,
    source: "sonots/redis_getlock from 0.3.0 (bef4f05, 2016-08-29), lib/redis_getlock.rb, with Redis from 2.6.12",
    key: KeyName::PLAIN,
    form: Form::of(
        &[Part::Text("{\"uuid\":\""), Part::Uuid, Part::Text("\",\"expire_at\":\""), Part::Stamp, Part::Text("\"}")],
        Stamp::float_seconds(Now::Float, Digits::RubyToS),
    ),
    lease_unit: Unit::Second,
    claim: Claim::SetNxEx(Words::ExpiryFirst),
    look: None,
    takeover: Takeover::Never,
    ttl: Ttl { then_setex: true, ..Ttl::NONE },
    release: Release::IfExistsAndValue(Check::Mine),
    retry: Retry::every_ms(1_000, Limit::Never),
    ..OHM_LOCK
};

/// SETNX and EXPIRE on older servers. An expired lock is a `NameError`: the code says `paylod`.
pub const REDIS_GETLOCK_OLD_SERVER: Dialect = Dialect {
    name: "redis-getlock-old-server",
    source: "sonots/redis_getlock from 0.3.0 (bef4f05, 2016-08-29), lib/redis_getlock.rb, with Redis before 2.6.12",
    claim: Claim::Setnx,
    look: Some(Look {
        judged: Judged::AtStart,
        missing: Missing::Raises,
        ..Look::expired_if_before(Reader::RubyJsonExpireAt)
    }),
    takeover: Takeover::Raises,
    candidate: Candidate::Same,
    ttl: Ttl { claimed: Lifetime::Expire, ..REDIS_GETLOCK.ttl },
    ..REDIS_GETLOCK
};
