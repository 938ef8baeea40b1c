//! The end of a lease: by whose clock, and whose work.

use std::time::Duration;

use super::participant::Participant;
use super::protocol::RaceProtocol;
use super::race::{Race, Variation};
use super::remedy::Remedy;
use super::scenario::{Guarding, Scenario};
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::Dialect;
use crate::legacy::catalogue::{
    java_article as java, jedis_article as jedis, php_article as php, ruby_resque as resque,
};
use crate::race_id::RaceId;

const BUSY_PHP: Participant = Participant::old(&php::PHP_GETSET, 2).working(99);
const BUSY_JAVA: Participant = Participant::old(&java::JAVA_GETSET, 2).working(99);
const AHEAD_MS: i64 = 4_000;

/// Never looks at its lease, and writes when its work is done.
const WRITER: Participant = Participant { writes: true, ..Participant::token(1) }.heedless();

const JEDIS: Participant = Participant::old(&jedis::REDIS_DISTRIBUTED_LOCK, 1).heedless();
/// Renews a quarter of a second after the lease has ended, if nothing else holds it up.
const RENEWING: Participant = Participant { prompt: true, renew_after: Some(5), work: 7, ..JEDIS };
/// Renews a second after its lease has ended, when others take its lock for expired.
const REFRESHING: Participant =
    Participant { renew_after: Some(2), ..Participant::new(RaceProtocol::Refreshing(TIMEOUT), Duration::from_secs(1)) }
        .working(4);
const TIMEOUT: &Dialect = &resque::RESQUE_LOCK_TIMEOUT;
const QUARTER: Duration = Duration::from_millis(250);

const STEALS: Sketch =
    Sketch { marks: &[Mark::Runs("A", "SETNX"), Mark::Runs("B", "GET"), Mark::Runs("B", "GETSET")], blame: 2 };

pub(super) const RACES: &[Race] = &[
    Race {
        id: RaceId::ClockSkewSteal,
        title: "A clock that runs ahead takes a lock that has not expired",
        sources: &["Java article", "bbangert/retools issue 18", "errorception/redis-lock issue 30"],
        story: "The end of the lease is a moment on the holder's clock. A client whose clock is ahead sees it pass too early.",
        scenario: Scenario {
            participants: &[BUSY_PHP, Participant { skew_ms: AHEAD_MS, ..BUSY_PHP }],
            bounds: Bounds::ticks(1),
            ..Scenario::EMPTY
        },
        violates: Property::MutualExclusion,
        sketch: STEALS,
        remedies: &[
            Remedy {
                skew_ms: Some(1_000),
                ..Remedy::old(
                    &java::JAVA_GETSET,
                    "the stamp is a second later than the lease, and no clock further ahead",
                )
            },
            Remedy::all(RaceProtocol::TOKEN, "only Redis' own clock ends the lease"),
        ],
        variations: &[Variation {
            what: "a second of tolerance does not help against four of skew",
            scenario: Scenario {
                participants: &[BUSY_JAVA, Participant { skew_ms: AHEAD_MS, ..BUSY_JAVA }],
                bounds: Bounds::ticks(1),
                ..Scenario::EMPTY
            },
            violates: Property::MutualExclusion,
            sketch: STEALS,
        }],
        remark: None,
    },
    Race {
        id: RaceId::Overrun,
        title: "The work outlasts the lease",
        sources: &["Jedis article, \"a paradox\""],
        story: "A lease has an end and work has none. A client that is held up past the end of its lease writes after the next holder, \
                with any lock.",
        scenario: Scenario {
            participants: &[WRITER; 2],
            bounds: Bounds::ticks(3),
            guard: Some(Guarding::AcceptsAll),
            ..Scenario::EMPTY
        },
        violates: Property::NoStaleWrite,
        sketch: Sketch {
            marks: &[
                Mark::Runs("A", "SET"),
                Mark::TimePasses,
                Mark::Runs("B", "SET"),
                Mark::Writes("B"),
                Mark::Writes("A"),
            ],
            blame: 1,
        },
        remedies: &[Remedy {
            checks_fence: true,
            ..Remedy::all(
                RaceProtocol::Modern("token-fenced"),
                "the resource refuses a number that is lower than one it has seen",
            )
        }],
        variations: &[Variation {
            what: "a client that looks at its lease, but only before it writes",
            scenario: Scenario {
                participants: &[Participant { heeds_lease: true, ..WRITER }; 2],
                bounds: Bounds::ticks(3),
                guard: Some(Guarding::AcceptsAll),
                ..Scenario::EMPTY
            },
            violates: Property::NoStaleWrite,
            sketch: Sketch { marks: &[Mark::Runs("A", "SET"), Mark::TimePasses, Mark::Runs("B", "SET")], blame: 1 },
        }],
        remark: Some(
            "Renewal narrows it and does not end it: a client that is held up is held up in its renewals as well.",
        ),
    },
    Race {
        id: RaceId::RenewalTooLate,
        title: "The renewal comes after the lease has expired",
        sources: &["Jedis article, class RedisDistributedLock", "resque-lock-timeout, refresh_lock!"],
        story: "The renewal sleeps for a whole lease before it renews. When it wakes up, the key is gone, or another's.",
        scenario: Scenario {
            participants: &[RENEWING, JEDIS],
            bounds: Bounds::ticks(8),
            tick: QUARTER,
            ..Scenario::EMPTY
        },
        violates: Property::MutualExclusion,
        sketch: Sketch { marks: &[Mark::Runs("A", "SET"), Mark::TimePasses, Mark::Runs("B", "SET")], blame: 1 },
        remedies: &[Remedy { renew_after: Some(1), ..Remedy::same("a quarter of the lease later there is time left") }],
        variations: &[Variation {
            what: "a client that renews by SET, without a look, overwrites the lock of the next holder",
            scenario: Scenario {
                participants: &[REFRESHING, Participant::old(TIMEOUT, 1)],
                bounds: Bounds::ticks(3),
                ..Scenario::EMPTY
            },
            violates: Property::MutualExclusion,
            sketch: Sketch { marks: &[Mark::TimePasses, Mark::Runs("B", "GETSET"), Mark::Runs("A", "SET")], blame: 2 },
        }],
        remark: None,
    },
    Race {
        id: RaceId::SharedRenewalFlag,
        title: "Releasing one lock ends the renewal of all others",
        sources: &["Jedis article, class RedisDistributedLock"],
        story: "One flag stands for the renewals of all locks of a process. A release of any of them clears it, and the \
                others expire while their holders work.",
        scenario: Scenario {
            participants: &[
                Participant { renew_after: Some(1), work: 99, ..RENEWING },
                Participant { lock: 1, ends_renewal_of: Some(0), ..JEDIS },
                JEDIS,
            ],
            bounds: Bounds::ticks(6),
            tick: QUARTER,
            ..Scenario::EMPTY
        },
        violates: Property::MutualExclusion,
        sketch: Sketch {
            marks: &[Mark::Runs("A", "SET"), Mark::Runs("B", "EVAL"), Mark::TimePasses, Mark::Runs("C", "SET")],
            blame: 2,
        },
        remedies: &[Remedy { own_renewals: true, ..Remedy::same("a release ends the renewal of its own lock only") }],
        variations: &[],
        remark: None,
    },
];
