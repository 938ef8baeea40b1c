//! The Java article on distributed locks by SETNX, EXPIRE, GETSET and EVAL, with Spring's `StringRedisTemplate`.

use super::margin::ONE_SECOND;
use super::redis_page::SETNX_PAGE;
use crate::{
    Candidate, Claim, Dialect, Digits, Family, Form, Judged, Language, Lifetime, Look, Moment, Part, Reader, Release,
    Script, Stamp, Takeover, Ttl, Verdict,
};

pub(super) const ROWS: &[&Dialect] = &[&JAVA_SETNX_EXPIRE, &JAVA_GETSET, &JAVA_LUA, &JAVA_TOKEN];

/// SETNX "1", EXPIRE, DEL: a client that dies between the first two leaves the lock for ever. The Jedis article has the
/// same steps.
pub const JAVA_SETNX_EXPIRE: Dialect = Dialect {
    name: "java-setnx-expire",
    also: &["naive-setnx-expire"],
    family: Family::N0,
    language: Language::Java,
    source: "Java article, first attempt; Jedis article, \"server down\"",
    form: Form::unstamped(&[Part::Text("1")]),
    look: None,
    takeover: Takeover::Never,
    candidate: Candidate::Same,
    ttl: Ttl::when_won(Lifetime::Expire),
    release: Release::Del,
    ..SETNX_PAGE
};

/// The improved lock: eight bytes of milliseconds, a second of tolerance, byte equality, EXPIRE. Its `bytesToLong`
/// throws on anything but eight bytes, and its `tryLock` turns that into "not acquired".
pub const JAVA_GETSET: Dialect = Dialect {
    name: "java-getset",
    also: &[],
    family: Family::B1,
    source: "Java article, improved lock",
    form: Form::stamp(Stamp { digits: Digits::BigEndian, ..Stamp::MILLIS.plus(ONE_SECOND) }),
    look: Some(Look { judged: Judged::AtStart, ..Look::expired_if_before(Reader::JavaBytes) }),
    takeover: Takeover::Getset(Verdict::SAME_BYTES),
    ..JAVA_SETNX_EXPIRE
};

/// SETNX and EXPIRE in one Lua script, "1", DEL.
pub const JAVA_LUA: Dialect = Dialect {
    name: "java-lua",
    also: &[],
    source: "Java article, optimised lock",
    claim: Claim::SetnxExpireScript,
    ttl: Ttl::NONE,
    ..JAVA_SETNX_EXPIRE
};

/// The same script with `uuid.millis` as the value, released by a script that compares. No client reads
/// the milliseconds: they are those of the moment at which the article's object is made, and here of the attempt.
pub const JAVA_TOKEN: Dialect = Dialect {
    name: "java-token",
    family: Family::E0,
    source: "Java article, addition of 2017-10-24",
    form: Form::of(&[Part::Uuid, Part::Text("."), Part::Stamp], Stamp { moment: Moment::Acquisition, ..Stamp::MILLIS }),
    release: Release::Script(Script::JavaToken),
    ..JAVA_LUA
};
