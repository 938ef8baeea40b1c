//! JavaScript on Node.

use super::margin::{ONE_MS, ONE_SECOND};
use super::redis_page::SETNX_PAGE;
use crate::{
    Absent, Candidate, Claim, Dialect, Family, Form, Judged, KeyName, Language, Lifetime, Limit, Look, Missing, Now,
    OldNil, OnError, Reader, Release, Retry, Rule, Stamp, Takeover, Test, Ttl, Unit, Verdict, Words,
};

pub(super) const ROWS: &[&Dialect] = &[
    &FAYE_REDIS,
    &FAYE_REDIS_RUBY,
    &NPM_REDIS_LOCK,
    &NPM_REDIS_LOCK_2012,
    &NPM_REDIS_LOCK_0_1_0,
    &NODE_RESQUE,
    &NODE_RESQUE_2019,
];

/// One clock reading and one value per try; a text that is not a number counts as expired. The namespace, empty by
/// default, stands before the key; the lease is two minutes.
pub const FAYE_REDIS: Dialect = Dialect {
    name: "faye-redis",
    family: Family::M1,
    language: Language::Node,
    source: "faye/faye-redis-node 0.1.0 (82f4b29, 2011-12-03) to 0.2.0, faye-redis.js, _withLock",
    key: KeyName::prefixed("/locks/"),
    form: Form::stamp(Stamp::MILLIS.plus(ONE_MS)),
    lease_unit: Unit::Millisecond,
    look: Some(Look {
        judged: Judged::AtStart,
        absent: Absent::NilOrEmpty,
        test: Test::LiveIfAfter,
        ..Look::expired_if_before(Reader::JsParseInt10)
    }),
    takeover: Takeover::Getset(Verdict::SAME_BYTES),
    candidate: Candidate::Same,
    retry: Retry::NONE,
    on_error: OnError::Retries,
    ..SETNX_PAGE
};

/// The same bytes in another language: a mixed fleet by design.
pub const FAYE_REDIS_RUBY: Dialect = Dialect {
    name: "faye-redis-ruby",
    language: Language::Ruby,
    source: "faye/faye-redis-ruby 0.1.0 (cd477b5, 2011-12-13) to 0.2.0, lib/faye/redis.rb, with_lock",
    look: Some(Look { judged: Judged::AtStart, test: Test::LiveIfAfter, ..Look::expired_if_before(Reader::RubyToI) }),
    ..FAYE_REDIS
};

/// The verdict compares GETSET's text with the number that `parseFloat` has made of GET's. The lease
/// is five seconds.
pub const NPM_REDIS_LOCK: Dialect = Dialect {
    name: "npm-redis-lock",
    also: &["npm-redis-lock-0.0.8", "npm-redis-lock-0.0.9"],
    source: "errorception/redis-lock (npm redis-lock) 0.0.3 (32027ab, 2012-10-11) to 0.0.9 (2015-01-29), index.js",
    key: KeyName::prefixed("lock."),
    look: Some(Look {
        absent: Absent::NilOrEmpty,
        test: Test::LiveIfAfter,
        ..Look::expired_if_before(Reader::JsParseFloat)
    }),
    takeover: Takeover::Getset(Verdict {
        rule: Rule::SameNumber { first: Reader::JsParseFloat, old: Reader::JsNumber },
        old_nil: OldNil::Loses,
    }),
    candidate: Candidate::Fresh,
    retry: Retry::every_ms(50, Limit::Never),
    ..FAYE_REDIS
};

/// Before it knew of a missing value: `NaN`, which is not above now and equals nothing. Its GETSET makes a lock without
/// a holder, the phantom of errorception/redis-lock issue 3.
pub const NPM_REDIS_LOCK_2012: Dialect = Dialect {
    name: "npm-redis-lock-2012",
    also: &[],
    source: "errorception/redis-lock (npm redis-lock) to 0.0.2, index.js",
    look: Some(Look {
        missing: Missing::Expired,
        test: Test::LiveIfAfter,
        ..Look::expired_if_before(Reader::JsParseFloat)
    }),
    takeover: Takeover::Getset(Verdict {
        rule: Rule::SameNumber { first: Reader::JsParseFloat, old: Reader::JsParseFloat },
        old_nil: OldNil::Loses,
    }),
    ..NPM_REDIS_LOCK
};

/// The same value by `SET key value PX lease NX`, and never looked at: the only change of format found that the older
/// versions can still read.
pub const NPM_REDIS_LOCK_0_1_0: Dialect = Dialect {
    name: "npm-redis-lock-0.1.0",
    also: &[],
    family: Family::M4,
    source: "errorception/redis-lock (npm redis-lock) 0.1.0 (2ba7a4c, released 2015-02-09) to 1.0.0, index.js",
    claim: Claim::SetNxPx(Words::ExpiryFirst),
    look: None,
    takeover: Takeover::Never,
    ..NPM_REDIS_LOCK
};

/// The clock rounded to the nearest second; an expired lock is overwritten by SET.
pub const NODE_RESQUE: Dialect = Dialect {
    name: "node-resque",
    family: Family::W1,
    language: Language::Node,
    source: "actionhero/node-resque from 8.2.4 (c417e6d, 2021-03-03), src/plugins/QueueLock.ts",
    key: KeyName::prefixed("resque:lock:"),
    form: Form::stamp(Stamp { now: Now::Nearest, ..Stamp::SECONDS.plus(ONE_SECOND) }),
    look: Some(Look {
        judged: Judged::AtStart,
        missing: Missing::Expired,
        test: Test::LiveIfNotBefore,
        ..Look::expired_if_before(Reader::JsParseInt)
    }),
    takeover: Takeover::Set,
    candidate: Candidate::Same,
    ttl: Ttl::when_won(Lifetime::Expire),
    release: Release::Del,
    retry: Retry::NONE,
    ..SETNX_PAGE
};

/// No TTL after SETNX, and one of decades after SET. Before 2.0.9 there was no EXPIRE at all, and before 0.16.5 (f366f60,
/// 2015-07-02) it read the key again after its SET and took its own stamp for that of another: a takeover never won.
pub const NODE_RESQUE_2019: Dialect = Dialect {
    name: "node-resque-2019",
    source: "actionhero/node-resque 2.0.9 (515ef63, 2016-07-07) to 8.2.3, lib/plugins/queueLock.js, src/plugins/QueueLock.ts",
    ttl: Ttl { taken: Lifetime::ExpireByMoment, ..Ttl::NONE },
    ..NODE_RESQUE
};
