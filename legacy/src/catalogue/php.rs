//! PHP, beside the article.

use core::time::Duration;

use super::margin::ONE_SECOND;
use super::redis_page::SETNX_PAGE;
use crate::{
    Absent, Candidate, Check, Dialect, Digits, Family, Form, Judged, KeyName, Language, Lifetime, Limit, Look, Loser,
    Missing, Moment, Now, OldNil, OnError, Part, Pause, Reader, Release, Retry, Rule, Stamp, Takeover, Test, Ttl, Unit,
    Unreadable, Verdict,
};

pub(super) const ROWS: &[&Dialect] = &[
    &YII_REDIS,
    &YII_REDIS_UNWRITTEN,
    &KDYBY_REDIS,
    &KDYBY_REDIS_PHP8,
    &PREDIS_LOCK,
    &PREDIS_LOCK_PHP8,
    &MR_LOCK_REDIS,
    &THINKPHP_LOCKUP,
    &PHP_JSON_EXPIRE,
    &PHP7_JSON_EXPIRE,
    &PHP_JSON_FIRST,
    &PHP7_JSON_FIRST,
    &PHP_ACQUIRED_AT,
];

/// Float seconds with four decimals. No value is `false`, which is not above now, and so is taken; two of them are equal.
/// The release spares a lock whose stamp is below the own one and still ahead. (Without a value it sends a DEL all the
/// same; here it does not.)
pub const YII_REDIS: Dialect = Dialect {
    name: "yii-redis",
    family: Family::F2,
    language: Language::Php,
    source: "phpnode/YiiRedis, ARedisMutex.php, from 2013-12-24",
    form: Form::stamp(Stamp::float_seconds(Now::MicrosFloat, Digits::Php14)),
    lease_unit: Unit::Nanosecond,
    look: Some(Look { missing: Missing::Expired, test: Test::LiveIfAfter, ..Look::expired_if_before(Reader::Php7) }),
    takeover: Takeover::Getset(Verdict { rule: PHP_LOOSELY_EQUAL, old_nil: OldNil::WinsIfAlsoRead }),
    release: Release::IfValue(Check::NotShortened),
    retry: Retry::every_ms(500, Limit::Never),
    on_error: OnError::False,
    ..SETNX_PAGE
};

/// Before that: a client that finds an expired lock takes it for its own and writes nothing.
pub const YII_REDIS_UNWRITTEN: Dialect = Dialect {
    name: "yii-redis-unwritten",
    source: "phpnode/YiiRedis, ARedisMutex.php, before 2013-12-24",
    takeover: Takeover::WithoutWriting,
    candidate: Candidate::Same,
    ..YII_REDIS
};

/// A missing or empty value goes back to SETNX at once; a stamp that equals now is live.
pub const KDYBY_REDIS: Dialect = Dialect {
    name: "kdyby-redis",
    family: Family::S2,
    language: Language::Php,
    source: "Kdyby/Redis from 3.2.1 (dce1be8, 2015-01-15), src/Kdyby/Redis/ExclusiveLock.php; PHP before 8",
    key: KeyName::suffixed(":lock"),
    look: Some(Look {
        absent: Absent::NilOrEmpty,
        missing: Missing::ClaimAgain,
        test: Test::LiveIfNotBefore,
        ..Look::expired_if_before(Reader::Php7)
    }),
    takeover: Takeover::Getset(Verdict::SAME_BYTES),
    retry: Retry {
        pause: Pause::Growing { first: Duration::from_micros(7_500), step: Duration::from_micros(2_500) },
        limit: Limit::Never,
    },
    on_error: OnError::False,
    ..SETNX_PAGE
};

/// The same code in its forks for PHP 8.
pub const KDYBY_REDIS_PHP8: Dialect = Dialect {
    name: "kdyby-redis-php8",
    source: "Kdyby/Redis from 3.2.1 (dce1be8, 2015-01-15), src/Kdyby/Redis/ExclusiveLock.php; forks for PHP 8",
    look: Some(Look {
        absent: Absent::NilOrEmpty,
        missing: Missing::ClaimAgain,
        test: Test::LiveIfNotBefore,
        ..Look::expired_if_before(Reader::Php8)
    }),
    ..KDYBY_REDIS
};

/// `sec:pid`, judged by what stands before the colon.
pub const PREDIS_LOCK: Dialect = Dialect {
    name: "predis-lock",
    family: Family::X1,
    language: Language::Php,
    source: "mfullbrook/PredisLock from 425312d (2012-04-13), src/Mcf/PredisLock/Lock.php; PHP before 8",
    key: KeyName::prefixed("lock:"),
    form: Form::of(&[Part::Stamp, Part::Text(":"), Part::Pid], Stamp::SECONDS.plus(ONE_SECOND)),
    look: Some(Look { missing: Missing::Expired, ..Look::expired_if_before(Reader::Php7BeforeColon) }),
    candidate: Candidate::Same,
    retry: Retry::every_ms(100, Limit::Tries(100)),
    ..SETNX_PAGE
};

/// The same code on PHP 8.
pub const PREDIS_LOCK_PHP8: Dialect = Dialect {
    name: "predis-lock-php8",
    source: "mfullbrook/PredisLock from 425312d (2012-04-13), src/Mcf/PredisLock/Lock.php; PHP 8",
    look: Some(Look { missing: Missing::Expired, ..Look::expired_if_before(Reader::Php8BeforeColon) }),
    ..PREDIS_LOCK
};

/// A value that is not a number is expired. Released only while it is the own value and not yet expired.
pub const MR_LOCK_REDIS: Dialect = Dialect {
    name: "mr-lock-redis",
    family: Family::S2,
    language: Language::Php,
    source: "Moodlerooms framework, local/mr/framework/lock/redis.php, with a bare timestamp for a value",
    look: Some(Look {
        absent: Absent::NilOrEmpty,
        unreadable: Unreadable::Expired,
        ..Look::expired_if_before(Reader::PhpIsNumber)
    }),
    takeover: Takeover::Getset(Verdict { rule: PHP_LOOSELY_EQUAL, old_nil: OldNil::Loses }),
    candidate: Candidate::Same,
    release: Release::IfValue(Check::EqualAndAhead),
    on_error: OnError::False,
    ..SETNX_PAGE
};

/// `(int) $value <= now`, and no value is 0; two of them are equal.
pub const THINKPHP_LOCKUP: Dialect = Dialect {
    name: "thinkphp-lockup",
    family: Family::S2,
    language: Language::Php,
    source: "a ThinkPHP project's function lockup",
    form: Form::stamp(Stamp::SECONDS),
    look: Some(Look {
        missing: Missing::Expired,
        test: Test::ExpiredIfNotAfter,
        ..Look::expired_if_before(Reader::PhpIntCast)
    }),
    takeover: Takeover::Getset(Verdict { rule: Rule::SameBytes, old_nil: OldNil::WinsIfAlsoRead }),
    candidate: Candidate::Same,
    release: Release::Del,
    retry: Retry::NONE,
    on_error: OnError::False,
    ..SETNX_PAGE
};

/// `{"expire":sec,"guid":"…"}`; what is not JSON goes back to SETNX, which cannot win then.
pub const PHP_JSON_EXPIRE: Dialect = Dialect {
    name: "php-json-expire",
    family: Family::J1,
    language: Language::Php,
    source: "RedisLock as Kaadon and Yurun have it; PHP 8",
    form: Form::of(
        &[Part::Text("{\"expire\":"), Part::Stamp, Part::Text(",\"guid\":\""), Part::Uuid, Part::Text("\"}")],
        Stamp::SECONDS,
    ),
    look: Some(Look {
        missing: Missing::ClaimAgain,
        unreadable: Unreadable::Live,
        ..Look::expired_if_before(Reader::Php8JsonExpire)
    }),
    takeover: Takeover::Getset(Verdict::SAME_BYTES),
    ttl: Ttl::when_won(Lifetime::Expire),
    on_error: OnError::False,
    ..SETNX_PAGE
};

/// The same code on PHP before 8.
pub const PHP7_JSON_EXPIRE: Dialect = Dialect {
    name: "php7-json-expire",
    source: "RedisLock as Kaadon and Yurun have it; PHP before 8",
    look: Some(Look {
        missing: Missing::ClaimAgain,
        unreadable: Unreadable::Live,
        ..Look::expired_if_before(Reader::Php7JsonExpire)
    }),
    ..PHP_JSON_EXPIRE
};

/// `[sec,"id"]`, released if the id is the own one.
pub const PHP_JSON_FIRST: Dialect = Dialect {
    name: "php-json-first",
    source: "Dev\\Locker; PHP 8",
    form: Form::of(&[Part::Text("["), Part::Stamp, Part::Text(",\""), Part::Uuid, Part::Text("\"]")], Stamp::SECONDS),
    look: Some(Look { missing: Missing::ClaimAgain, ..Look::expired_if_before(Reader::Php8JsonFirst) }),
    release: Release::IfValue(Check::Mine),
    ..PHP_JSON_EXPIRE
};

/// The same code on PHP before 8.
pub const PHP7_JSON_FIRST: Dialect = Dialect {
    name: "php7-json-first",
    source: "Dev\\Locker; PHP before 8",
    look: Some(Look { missing: Missing::ClaimAgain, ..Look::expired_if_before(Reader::Php7JsonFirst) }),
    ..PHP_JSON_FIRST
};

/// The moment of acquisition; held while `now - value` is below the lease. The loser of a takeover puts the old value
/// back with SET. (Its verdict is taken for equality; a Node copy has the same idea.)
pub const PHP_ACQUIRED_AT: Dialect = Dialect {
    name: "php-acquired-at",
    family: Family::A1,
    language: Language::Php,
    source: "one PHP project",
    form: Form::stamp(Stamp { moment: Moment::Acquisition, ..Stamp::SECONDS }),
    look: Some(Look {
        judged: Judged::AtStart,
        test: Test::ExpiredIfNotAfter,
        ..Look::expired_if_before(Reader::PhpIntCast)
    }),
    takeover: Takeover::Getset(Verdict::SAME_BYTES),
    candidate: Candidate::Same,
    loser: Loser::WritesBack,
    release: Release::Del,
    retry: Retry::NONE,
    on_error: OnError::False,
    ..SETNX_PAGE
};

/// `$old == $read` on two strings: numbers if both are numeric, else the bytes.
const PHP_LOOSELY_EQUAL: Rule = Rule::SameNumber { first: Reader::Php8, old: Reader::Php8 };
