//! Go.

use core::time::Duration;

use super::redis_page::SETNX_PAGE;
use crate::{
    Candidate, Claim, Dialect, Family, Form, KeyName, Language, Lifetime, Limit, Look, Missing, OldNil, Reader,
    Release, Retry, Rule, Stamp, Takeover, Ttl, Unit, Verdict, Watch, Words,
};

pub(super) const ROWS: &[&Dialect] = &[&GORLOCK, &GORLOCK_SETNX, &GORLOCK_MILLIS_AS_SECONDS, &REDIGOLOCK, &L2MET];

/// Nanoseconds; `SET NX` with a TTL, and an EXPIRE after it. A reply of nil is an error of go-redis, also GETSET's, which
/// has written by then.
pub const GORLOCK: Dialect = Dialect {
    name: "gorlock",
    family: Family::N1,
    language: Language::Go,
    source: "vanng822/gorlock from 2.0.0 (7e5e9c8, 2025-07-12), lock.go, over go-redis",
    key: KeyName::prefixed("gorlock:"),
    form: Form::stamp(Stamp { unit: Unit::Nanosecond, ..Stamp::SECONDS }),
    lease_unit: Unit::Nanosecond,
    claim: Claim::SetNxExOrPx(Words::ExpiryFirst),
    look: Some(Look { missing: Missing::Raises, ..Look::expired_if_before(Reader::GoParseInt) }),
    takeover: Takeover::Getset(Verdict {
        rule: Rule::SameNumber { first: Reader::GoParseInt, old: Reader::GoParseInt },
        old_nil: OldNil::Raises,
    }),
    ttl: Ttl::when_won(Lifetime::Expire),
    release: Release::Del,
    ..SETNX_PAGE
};

/// Before that, with a bare SETNX.
pub const GORLOCK_SETNX: Dialect = Dialect {
    name: "gorlock-setnx",
    source: "vanng822/gorlock, lock.go, before 7e5e9c8 (2025-07-12), over redigo",
    claim: Claim::Setnx,
    ..GORLOCK
};

/// An ancestor that gave EXPIRE its milliseconds.
pub const GORLOCK_MILLIS_AS_SECONDS: Dialect = Dialect {
    name: "gorlock-millis-as-seconds",
    source: "an ancestor of vanng822/gorlock",
    lease_unit: Unit::Millisecond,
    ttl: Ttl::when_won(Lifetime::ExpireByMillis),
    ..GORLOCK_SETNX
};

/// WATCH, GET, and a transaction of SET and PEXPIRE, also if the lock is free. A key that is held stays watched.
pub const REDIGOLOCK: Dialect = Dialect {
    name: "redigolock",
    family: Family::M3,
    language: Language::Go,
    source: "vube/redigolock from adb0181 (2013-10-03), redigolock.go",
    key: KeyName::around("L:{", "}"),
    form: Form::stamp(Stamp::MILLIS),
    lease_unit: Unit::Millisecond,
    claim: Claim::None,
    look: Some(Look {
        watch: Watch::NeverEnded,
        missing: Missing::Expired,
        ..Look::expired_if_before(Reader::GoParseInt)
    }),
    takeover: Takeover::WatchedSet,
    ttl: Ttl::when_won(Lifetime::Pexpire),
    release: Release::Del,
    retry: Retry::every_ms(100, Limit::Total(Duration::from_secs(31))),
    ..SETNX_PAGE
};

/// One GETSET, won if it raises the stamp: the old value is the only one that is ever looked at.
pub const L2MET: Dialect = Dialect {
    name: "l2met",
    family: Family::G1,
    language: Language::Go,
    source: "a partitioner in the manner of l2met",
    claim: Claim::None,
    look: None,
    takeover: Takeover::Getset(Verdict { rule: Rule::BelowOwn(Reader::GoParseInt), old_nil: OldNil::Wins }),
    candidate: Candidate::Same,
    release: Release::Never,
    retry: Retry::NONE,
    ..SETNX_PAGE
};
