//! The PHP article: "Redis distributed lock principle and its implementation with PHP (1)", with phpredis and with predis.

use super::redis_page::SETNX_PAGE;
use crate::{
    Candidate, Dialect, Family, Form, KeyName, Language, Lifetime, Limit, Look, Missing, OnError, Pause, Reader,
    Release, Retry, Stamp, Takeover, Ttl,
};

pub(super) const ROWS: &[&Dialect] = &[
    &PHP_SETNX,
    &PHP_DEL_TAKEOVER,
    &PHP7_DEL_TAKEOVER,
    &PHP_GETSET,
    &PHP7_GETSET,
    &PHP_GETSET_ABSOLUTE_EXPIRE,
    &PHP7_GETSET_ABSOLUTE_EXPIRE,
    &PREDIS_DEL_TAKEOVER,
    &PREDIS7_DEL_TAKEOVER,
    &PREDIS_GETSET,
    &PREDIS7_GETSET,
];

/// Section 4: SETNX with a stamp that no client reads.
pub const PHP_SETNX: Dialect = Dialect {
    name: "php-setnx",
    family: Family::S3,
    language: Language::Php,
    source: "PHP article, section 4",
    form: Form::stamp(Stamp::SECONDS),
    look: None,
    takeover: Takeover::Never,
    candidate: Candidate::Same,
    release: Release::Del,
    retry: Retry::NONE,
    on_error: OnError::False,
    ..SETNX_PAGE
};

/// Section 5: an expired lock is deleted, and SETNX tried again. The loop assigns what GET returns to the very variable
/// that it SETNXes, so the taker writes back the expired stamp that it has read, and the lock is free for the taking
/// at once. For what the text means, see `setnx-page-del`.
pub const PHP_DEL_TAKEOVER: Dialect = Dialect {
    name: "php-del-takeover",
    source: "PHP article, section 5; PHP 8",
    look: Some(LOOK),
    takeover: Takeover::DelThenSetnx,
    candidate: Candidate::AsRead,
    retry: Retry { pause: Pause::None, limit: Limit::Never },
    ..PHP_SETNX
};

/// Section 5 on PHP before 8, where a text that is not a number is 0.
pub const PHP7_DEL_TAKEOVER: Dialect = Dialect {
    name: "php7-del-takeover",
    source: "PHP article, section 5; PHP before 8",
    look: Some(Look { reader: Reader::Php7, ..LOOK }),
    ..PHP_DEL_TAKEOVER
};

/// The complete code: SETNX, or `get < time()` and `getSet < time()`; EXPIRE; DEL if the TTL is true. No value is
/// `false`, and `false < time()`: nil counts as expired, before GETSET and after it. Tries again every two seconds.
pub const PHP_GETSET: Dialect = Dialect {
    name: "php-getset",
    source: "PHP article, complete code; PHP 8",
    key: KeyName::prefixed("lock:"),
    takeover: Takeover::Getset(crate::Verdict::STILL_EXPIRED),
    look: Some(LOOK),
    ttl: Ttl::when_won(Lifetime::Expire),
    release: Release::UnlessTtlZero,
    retry: Retry::every_ms(2_000, Limit::Never),
    ..PHP_SETNX
};

/// The complete code on PHP before 8.
pub const PHP7_GETSET: Dialect = Dialect {
    name: "php7-getset",
    source: "PHP article, complete code; PHP before 8",
    look: Some(Look { reader: Reader::Php7, ..LOOK }),
    ..PHP_GETSET
};

/// Copies of it that give EXPIRE the stamp instead of the lease: the key lives for decades.
pub const PHP_GETSET_ABSOLUTE_EXPIRE: Dialect = Dialect {
    name: "php-getset-absolute-expire",
    source: "copies of the PHP article; PHP 8",
    ttl: Ttl::when_won(Lifetime::ExpireByMoment),
    ..PHP_GETSET
};

/// The same copies on PHP before 8.
pub const PHP7_GETSET_ABSOLUTE_EXPIRE: Dialect = Dialect {
    name: "php7-getset-absolute-expire",
    source: "copies of the PHP article; PHP before 8",
    ttl: Ttl::when_won(Lifetime::ExpireByMoment),
    ..PHP7_GETSET
};

/// Section 5 through predis, which raises the errors that phpredis takes for no value: a key that is not a string is not expired.
pub const PREDIS_DEL_TAKEOVER: Dialect = Dialect {
    name: "predis-del-takeover",
    source: "PHP article, section 5, with predis; PHP 8",
    on_error: OnError::Raises,
    ..PHP_DEL_TAKEOVER
};

/// Section 5 through predis on PHP before 8.
pub const PREDIS7_DEL_TAKEOVER: Dialect = Dialect {
    name: "predis7-del-takeover",
    source: "PHP article, section 5, with predis; PHP before 8",
    on_error: OnError::Raises,
    ..PHP7_DEL_TAKEOVER
};

/// The complete code through predis.
pub const PREDIS_GETSET: Dialect = Dialect {
    name: "predis-getset",
    source: "PHP article, complete code, with predis; PHP 8",
    on_error: OnError::Raises,
    ..PHP_GETSET
};

/// The complete code through predis on PHP before 8.
pub const PREDIS7_GETSET: Dialect = Dialect {
    name: "predis7-getset",
    source: "PHP article, complete code, with predis; PHP before 8",
    on_error: OnError::Raises,
    ..PHP7_GETSET
};

const LOOK: Look = Look { missing: Missing::Expired, ..Look::expired_if_before(Reader::Php8) };
