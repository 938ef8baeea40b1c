//! Ruby: the plugins of resque.

use core::time::Duration;

use super::redis_page::SETNX_PAGE;
use crate::{
    Candidate, Dialect, Family, Form, Judged, KeyName, Language, Lifetime, Limit, Live, Look, Missing, Part, Pause,
    Reader, Refresh, Release, Retry, Stamp, Takeover, Test, Ttl,
};

pub(super) const ROWS: &[&Dialect] = &[
    &RESQUE_LOCK,
    &RESQUE_LOCK_1_0,
    &RESQUE_BUS,
    &RESQUE_LONELY_JOB,
    &RESQUE_LOCK_TIMEOUT,
    &RESQUE_CONCURRENT_RESTRICTION,
];

/// `now <= value` is held, and nil is 0. A name is `CLASS-ARGS`, the lease an hour.
pub const RESQUE_LOCK: Dialect = Dialect {
    name: "resque-lock",
    language: Language::Ruby,
    source: "defunkt/resque-lock 1.1 (e06fc2b, 2012-11-06), lib/resque/plugins/lock.rb",
    key: KeyName::prefixed("resque:lock:"),
    look: Some(LOOK),
    candidate: Candidate::Same,
    release: Release::Del,
    retry: Retry::NONE,
    ..SETNX_PAGE
};

/// "true", for ever: to the readers of today's versions it is 0.
pub const RESQUE_LOCK_1_0: Dialect = Dialect {
    name: "resque-lock-1.0",
    also: &["resque-lonely-job-0.0.1", "resque-lock-timeout-without-timeout"],
    family: Family::N0,
    source: "defunkt/resque-lock to 1.0; lantins/resque-lock-timeout without a timeout; first resque-lonely_job",
    form: Form::unstamped(&[Part::Text("true")]),
    look: None,
    takeover: Takeover::Never,
    ..RESQUE_LOCK
};

/// The heartbeat of resque-bus, and its port to Python on the same keys: two seconds of margin.
pub const RESQUE_BUS: Dialect = Dialect {
    name: "resque-bus",
    source: "queue-bus/resque-bus from 4d1e305 (2013-09-26), lib/resque_bus/heartbeat.rb; from d73cd00 (2015-01-16) in queue-bus",
    key: KeyName::PLAIN,
    form: Form::stamp(Stamp::SECONDS.plus(Duration::from_secs(2))),
    ..RESQUE_LOCK
};

/// `value > now` is held. A name is that of a queue, the lease five days.
pub const RESQUE_LONELY_JOB: Dialect = Dialect {
    name: "resque-lonely-job",
    source: "wallace/resque-lonely_job from 0.0.4 (8ab67f6, 2013-01), lib/resque-lonely_job.rb",
    key: KeyName::prefixed("resque:lonely_job:"),
    look: Some(Look { test: Test::LiveIfAfter, ..LOOK }),
    ..RESQUE_LOCK
};

/// One more SETNX if the lock is held or gone. From 0.3.1 its `refresh_lock!` extends it.
pub const RESQUE_LOCK_TIMEOUT: Dialect = Dialect {
    name: "resque-lock-timeout",
    source: "lantins/resque-lock-timeout 0.2.0 (a921495, 2010-05-05) to 0.4.5, lib/resque/plugins/lock_timeout.rb",
    form: Form::stamp(Stamp::SECONDS),
    look: Some(Look { missing: Missing::ClaimOnce, test: Test::ExpiredIfBefore, live: Live::ClaimOnce, ..LOOK }),
    refresh: Refresh::Set,
    release: Release::WhileStampAhead { or_equal: true, grace: Duration::ZERO },
    ..RESQUE_LOCK
};

/// The one that clears away: EXPIREAT five minutes after the stamp.
pub const RESQUE_CONCURRENT_RESTRICTION: Dialect = Dialect {
    name: "resque-concurrent-restriction",
    source: "wr0ngway/resque-concurrent-restriction 0.5.0 (6629718, 2011-04-05) to 0.5.9, concurrent_restriction_job.rb",
    key: KeyName::PLAIN,
    look: Some(Look { judged: Judged::AfterAnswer, test: Test::LiveIfAfter, ..LOOK }),
    ttl: Ttl::when_won(Lifetime::ExpireAt { later_secs: 300 }),
    release: Release::WhileStampAhead { or_equal: false, grace: Duration::ZERO },
    retry: Retry { pause: Pause::Random { most: Duration::from_millis(100) }, limit: Limit::Caller },
    ..RESQUE_LOCK
};

const LOOK: Look = Look {
    judged: Judged::AtStart,
    missing: Missing::Expired,
    test: Test::LiveIfNotBefore,
    ..Look::expired_if_before(Reader::RubyToI)
};
