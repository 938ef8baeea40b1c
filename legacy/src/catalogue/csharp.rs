//! C#.

use core::time::Duration;

use super::margin::{ONE_MS, ONE_SECOND};
use super::redis_page::SETNX_PAGE;
use crate::{
    Candidate, Claim, Clock, Dialect, Digits, Family, Form, Judged, Language, Lifetime, Limit, Look, Missing, Now,
    OldNil, Pause, Reader, Release, Retry, Rule, Stamp, Takeover, Test, Ttl, Unit, Unreadable, Verdict, Watch, Words,
};

pub(super) const ROWS: &[&Dialect] = &[
    &SERVICESTACK_2012,
    &SERVICESTACK_2012_SECONDS,
    &SERVICESTACK_4_0_34,
    &SERVICESTACK,
    &SERVICESTACK_DISTRIBUTED_LOCK,
    &NEWLIFE,
    &NEWLIFE_2021,
    &NEWLIFE_2017,
    &STACKEXCHANGE_TICKS,
];

/// SETNX, and GETSET after it; milliseconds. What `TryParse` refuses is a lock that is held. It reads through JSON and
/// compares with what GETSET returns as it is: a value in quotes, which 4.0.44 writes, it overwrites without winning.
pub const SERVICESTACK_2012: Dialect = Dialect {
    name: "servicestack-2012",
    family: Family::M1,
    language: Language::CSharp,
    source: "ServiceStack/ServiceStack.Redis, src/ServiceStack.Redis/RedisLock.cs, a7c365d (2012-10-23) to 4.0.33",
    form: Form::stamp(Stamp::MILLIS.plus(ONE_MS)),
    lease_unit: Unit::Millisecond,
    look: Some(SERVICESTACK_LOOK),
    takeover: Takeover::Getset(Verdict {
        rule: Rule::SameNumber { first: Reader::CSharpJsonTryParse, old: Reader::CSharpTryParse },
        old_nil: OldNil::Loses,
    }),
    candidate: Candidate::Same,
    release: Release::Del,
    retry: Retry { pause: Pause::Squares, limit: Limit::Caller },
    ..SETNX_PAGE
};

/// In seconds, for some hours of that first day.
pub const SERVICESTACK_2012_SECONDS: Dialect = Dialect {
    name: "servicestack-2012-seconds",
    family: Family::S2,
    source: "ServiceStack/ServiceStack.Redis, src/ServiceStack.Redis/RedisLock.cs, f2f273d (2012-10-23), for some hours",
    form: Form::stamp(Stamp::SECONDS.plus(ONE_SECOND)),
    lease_unit: Unit::Second,
    ..SERVICESTACK_2012
};

/// SET NX in place of SETNX, since 747cef8 (2014-11-11) gave `SetEntryIfNotExists` the new command.
pub const SERVICESTACK_4_0_34: Dialect = Dialect {
    name: "servicestack-4.0.34",
    source: "ServiceStack/ServiceStack.Redis, src/ServiceStack.Redis/RedisLock.cs, 4.0.34 to 4.0.42",
    claim: Claim::SetNx,
    ..SERVICESTACK_2012
};

/// WATCH and a transaction instead of GETSET, because a loser's GETSET "also mutated the value in the lock". The
/// transaction's `Set<string>` goes through JSON: after a takeover the stamp stands in quotes.
pub const SERVICESTACK: Dialect = Dialect {
    name: "servicestack",
    family: Family::M3,
    source: "ServiceStack/ServiceStack.Redis, src/ServiceStack.Redis/RedisLock.cs, from 4.0.44 (1fd23d6, 2015-07-24)",
    form: Form::stamp(Stamp::MILLIS.plus(ONE_MS)).quoted_when_taken(),
    look: Some(Look { watch: Watch::Yes, ..SERVICESTACK_LOOK }),
    takeover: Takeover::WatchedSet,
    ..SERVICESTACK_4_0_34
};

const SERVICESTACK_LOOK: Look = Look {
    test: Test::LiveIfAfter,
    unreadable: Unreadable::Live,
    ..Look::expired_if_before(Reader::CSharpJsonTryParse)
};

/// Eight bytes, little-endian: the clock, the lease and a second and a half, cut to whole seconds. No value is 0. It
/// looks only after it has polled SETNX for as long as it may wait; here, in every try.
pub const SERVICESTACK_DISTRIBUTED_LOCK: Dialect = Dialect {
    name: "servicestack-distributed-lock",
    family: Family::B2,
    source: "ServiceStack/ServiceStack.Redis, src/ServiceStack.Redis/Support/Locking/DistributedLock.cs, from a2815cf (2011-01-21)",
    form: Form::stamp(Stamp {
        now: Now::Exact,
        digits: Digits::LittleEndian,
        ..Stamp::SECONDS.plus(Duration::from_millis(1_500))
    }),
    lease_unit: Unit::Second,
    claim: Claim::Setnx,
    look: Some(Look {
        watch: Watch::Yes,
        judged: Judged::AtStart,
        missing: Missing::Expired,
        ..Look::expired_if_before(Reader::CSharpBytes)
    }),
    candidate: Candidate::Fresh,
    release: Release::IfEqualWatched,
    retry: Retry::every_ms(200, Limit::Caller),
    ..SERVICESTACK
};

/// The machine's uptime for a clock: a host that has been up for longer takes a fresh lock at once. Nil is 0. Wins if
/// the old value is not above the one read.
pub const NEWLIFE: Dialect = Dialect {
    name: "newlife",
    family: Family::T1,
    language: Language::CSharp,
    source: "NewLifeX/X, NewLife.Core/Caching/CacheLock.cs, from a54cb42 (2022-03-04)",
    form: Form::stamp(Stamp::MILLIS),
    clock: Clock::Uptime,
    claim: Claim::SetNxEx(Words::ExpiryFirst),
    look: Some(Look {
        judged: Judged::AtStart,
        missing: Missing::Expired,
        test: Test::ExpiredIfNotAfter,
        ..Look::expired_if_before(Reader::CSharpParseOrZero)
    }),
    takeover: Takeover::Getset(Verdict { rule: Rule::NotAboveRead, old_nil: OldNil::Wins }),
    candidate: Candidate::Same,
    ttl: Ttl { taken: Lifetime::Expire, ..Ttl::NONE },
    release: Release::Del,
    retry: Retry::every_ms(200, Limit::Caller),
    ..SETNX_PAGE
};

/// The clock of `newlife-2017` with the verdict of `newlife`.
pub const NEWLIFE_2021: Dialect = Dialect {
    name: "newlife-2021",
    source: "NewLifeX/X, NewLife.Core/Caching/CacheLock.cs, d9e0eb8 (2021-07-08) to a54cb42 (2022-03-04)",
    takeover: NEWLIFE.takeover,
    ..NEWLIFE_2017
};

/// A `DateTime` as text, in the host's local time, and the verdict of the SETNX page with "not after".
/// From 9c4c1bd (2017-12-18) to 550ab5a it did the same without a TTL; no row says that.
pub const NEWLIFE_2017: Dialect = Dialect {
    name: "newlife-2017",
    source: "NewLifeX/X, NewLife.Core/Caching/CacheLock.cs, 550ab5a (2020-06-20) to d9e0eb8 (2021-07-08)",
    form: Form::stamp(Stamp { digits: Digits::DateTime, ..Stamp::MILLIS }),
    clock: Clock::Local,
    look: Some(Look {
        judged: Judged::AtStart,
        missing: Missing::Expired,
        test: Test::ExpiredIfNotAfter,
        ..Look::expired_if_before(Reader::CSharpDateTime)
    }),
    takeover: Takeover::Getset(Verdict::STILL_EXPIRED),
    ..NEWLIFE
};

/// .NET ticks of local time.
pub const STACKEXCHANGE_TICKS: Dialect = Dialect {
    name: "stackexchange-ticks",
    family: Family::T1,
    language: Language::CSharp,
    source: "copies over StackExchange.Redis",
    form: Form::stamp(Stamp { unit: Unit::Tick, ..Stamp::SECONDS }),
    lease_unit: Unit::Millisecond,
    look: Some(Look { test: Test::ExpiredIfNotAfter, ..Look::expired_if_before(Reader::CSharpTryParse) }),
    takeover: Takeover::Getset(Verdict::SAME_BYTES),
    candidate: Candidate::Same,
    release: Release::Del,
    ..SETNX_PAGE
};
