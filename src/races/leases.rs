//! The end of a lease: by whose clock, and whose work.

use std::time::Duration;

use super::cast::{Cast, Guarding};
use super::player::Player;
use super::protocol::Protocol;
use super::race::{Race, Variation};
use super::remedy::Remedy;
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{java_article as java, jedis_article as jedis, php_article as php};

const BUSY_PHP: Player = Player::old(&php::PHP_GETSET, 2).working(99);
const BUSY_JAVA: Player = Player::old(&java::JAVA_GETSET, 2).working(99);
const AHEAD: i32 = 4;

/// Never looks at its lease, and writes when its work is done.
const WRITER: Player = Player { writes: true, ..Player::token(1) }.heedless();

const JEDIS: Player = Player::old(&jedis::REDIS_DISTRIBUTED_LOCK, 1).heedless();
/// Renews a quarter of a second after the lease has ended, if nothing else holds it up.
const RENEWING: Player = Player { prompt: true, renew_after: Some(5), work: 7, ..JEDIS };
const QUARTER: Duration = Duration::from_millis(250);

const STEALS: Sketch = Sketch { marks: &[Mark("A", "SETNX"), Mark("B", "GET"), Mark("B", "GETSET")], blame: 2 };

pub(super) const RACES: &[Race] = &[
    Race {
        id: "clock-skew-steal",
        title: "A clock that runs ahead takes a lock that is not over",
        sources: &["Java article", "bbangert/retools issue 18", "errorception/redis-lock issue 30"],
        story: "The end of the lease is a moment on the holder's clock. Whose clock is ahead sees it pass too early.",
        cast: Cast {
            players: &[BUSY_PHP, Player { skew: AHEAD, ..BUSY_PHP }],
            bounds: Bounds::ticks(1),
            ..Cast::NOBODY
        },
        violates: Property::MutualExclusion,
        sketch: STEALS,
        remedies: &[
            Remedy {
                skew: Some(1),
                ..Remedy::old(
                    &java::JAVA_GETSET,
                    "the stamp is a second later than the lease, and no clock further ahead",
                )
            },
            Remedy::all(Protocol::Token, "only Redis' own clock ends the lease"),
        ],
        variations: &[Variation {
            what: "a second of tolerance does not help against four of skew",
            cast: Cast {
                players: &[BUSY_JAVA, Player { skew: AHEAD, ..BUSY_JAVA }],
                bounds: Bounds::ticks(1),
                ..Cast::NOBODY
            },
            violates: Property::MutualExclusion,
            sketch: STEALS,
        }],
        remark: None,
    },
    Race {
        id: "overrun",
        title: "The work outlasts the lease",
        sources: &["Jedis article, \"a paradox\""],
        story: "A lease has an end and work has none. Whoever is held up past the end of its lease writes after the next holder, \
                with any lock.",
        cast: Cast {
            players: &[WRITER; 2],
            bounds: Bounds::ticks(3),
            guard: Some(Guarding::AcceptsAll),
            ..Cast::NOBODY
        },
        violates: Property::NoStaleWrite,
        sketch: Sketch {
            marks: &[
                Mark("A", "SET"),
                Mark("clock", "passes"),
                Mark("B", "SET"),
                Mark("B", "writes to the guarded resource"),
                Mark("A", "writes to the guarded resource"),
            ],
            blame: 1,
        },
        remedies: &[Remedy {
            checks_fence: true,
            ..Remedy::all(Protocol::FencedToken, "the resource refuses a number that is lower than one it has seen")
        }],
        variations: &[Variation {
            what: "whoever looks at its lease, but only before it writes",
            cast: Cast {
                players: &[Player { heeds_lease: true, ..WRITER }; 2],
                bounds: Bounds::ticks(3),
                guard: Some(Guarding::AcceptsAll),
                ..Cast::NOBODY
            },
            violates: Property::NoStaleWrite,
            sketch: Sketch { marks: &[Mark("A", "SET"), Mark("clock", "passes"), Mark("B", "SET")], blame: 1 },
        }],
        remark: Some(
            "Renewal narrows it and does not end it: a client that is held up is held up in its renewals as well.",
        ),
    },
    Race {
        id: "renewal-too-late",
        title: "The renewal comes when the lease is over",
        sources: &["Jedis article, class RedisDistributedLock"],
        story: "The renewal sleeps for a whole lease before it renews. When it wakes up, the key is gone, or another's.",
        cast: Cast { players: &[RENEWING, JEDIS], bounds: Bounds::ticks(8), tick: QUARTER, ..Cast::NOBODY },
        violates: Property::MutualExclusion,
        sketch: Sketch { marks: &[Mark("A", "SET"), Mark("clock", "passes"), Mark("B", "SET")], blame: 1 },
        remedies: &[Remedy { renew_after: Some(1), ..Remedy::same("a quarter of the lease later there is time left") }],
        variations: &[],
        remark: None,
    },
    Race {
        id: "shared-renewal-flag",
        title: "Releasing one lock ends the renewal of all others",
        sources: &["Jedis article, class RedisDistributedLock"],
        story: "One flag stands for the renewals of all locks of a process. Whoever releases any of them clears it, and the \
                others run out under their holders' hands.",
        cast: Cast {
            players: &[
                Player { renew_after: Some(1), work: 99, ..RENEWING },
                Player { lock: 1, ends_renewal_of: Some(0), ..JEDIS },
                JEDIS,
            ],
            bounds: Bounds::ticks(6),
            tick: QUARTER,
            ..Cast::NOBODY
        },
        violates: Property::MutualExclusion,
        sketch: Sketch {
            marks: &[Mark("A", "SET"), Mark("B", "EVAL"), Mark("clock", "passes"), Mark("C", "SET")],
            blame: 2,
        },
        remedies: &[Remedy { own_renewals: true, ..Remedy::same("a release ends the renewal of its own lock only") }],
        variations: &[],
        remark: None,
    },
];
