//! The Redis SETNX page, "Design pattern: Locking with SETNX": the source of all others.

use core::time::Duration;

use super::margin::ONE_SECOND;
use crate::{
    Candidate, Claim, Clock, Dialect, Family, Form, KeyName, Keys, Language, Limit, Look, Loser, OnError, Reader,
    Refresh, Release, Retry, Stamp, Takeover, Test, Ttl, Unit, Verdict,
};

pub(super) const ROWS: &[&Dialect] = &[&SETNX_PAGE, &SETNX_WIKI, &SETNX_PAGE_DEL];

/// SETNX; GET; GETSET if the stamp is older than now; won if the old one still is. The page does not say what to do
/// when GET finds nothing: here the attempt ends. A holder checks its own timeout before it DELs.
pub const SETNX_PAGE: Dialect = Dialect {
    name: "setnx-page",
    also: &[],
    family: Family::S1,
    language: Language::Prose,
    source: "Redis documentation, commands/setnx.md, \"Design pattern: Locking with SETNX\", 2010 to today",
    key: KeyName::PLAIN,
    keys: Keys::One,
    form: Form::stamp(Stamp::SECONDS.plus(ONE_SECOND)),
    lease_unit: Unit::Second,
    clock: Clock::Local,
    claim: Claim::Setnx,
    look: Some(Look::expired_if_before(Reader::Decimal)),
    takeover: Takeover::Getset(Verdict::STILL_EXPIRED),
    candidate: Candidate::Fresh,
    loser: Loser::LeavesItsStamp,
    ttl: Ttl::NONE,
    refresh: Refresh::Never,
    release: Release::WhileStampAhead { or_equal: false, grace: Duration::ZERO },
    retry: Retry { pause: crate::Pause::None, limit: Limit::Caller },
    on_error: OnError::Raises,
};

/// The page as it was on the first wiki: a stamp that equals now has expired.
pub const SETNX_WIKI: Dialect = Dialect {
    name: "setnx-wiki",
    source: "Redis wiki, SetnxCommand, before 2010-09",
    look: Some(Look { test: Test::ExpiredIfNotAfter, ..Look::expired_if_before(Reader::Decimal) }),
    ..SETNX_PAGE
};

/// What the page warns of: DEL of an expired lock, then SETNX. Two clients that have seen the same stamp can each
/// delete the other's lock.
pub const SETNX_PAGE_DEL: Dialect = Dialect {
    name: "setnx-page-del",
    source: "Redis documentation, commands/setnx.md, the example that ends with \"both C1 and C2 acquired the lock\"",
    takeover: Takeover::DelThenSetnx,
    ..SETNX_PAGE
};
