//! Working past the lease, and renewing it.

use std::time::Duration;

use super::cast::{Cast, Guarding};
use super::player::Player;
use super::protocol::Protocol;
use super::race::Race;
use super::remedy::{Change, Remedy};
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::jedis_article as jedis;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

const JEDIS: Protocol = Protocol::Dialect(&jedis::REDIS_DISTRIBUTED_LOCK);
const RENEWING: Player =
    Player { prompt: true, renew_after: Some(5), work: 7, ..Player::new(JEDIS, secs(1)) }.heedless();

pub(super) const RACES: &[Race] = &[
    Race {
        id: "overrun",
        title: "The work outlasts the lease",
        sources: &["Jedis article (\"a paradox\")"],
        story: "A lease has an end and work has none. Whoever is held up past the end of its lease writes beside the next \
                holder, with any lock.",
        cast: Cast {
            players: &[Player { writes: true, ..Player::new(Protocol::Token, secs(1)) }.heedless(); 2],
            bounds: Bounds::ticks(2),
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
            changes: &[Change::All(Protocol::FencedToken), Change::ChecksFence],
            because: "the resource refuses a number that is lower than one it has seen",
        }],
        variations: &[],
        remark: None,
    },
    Race {
        id: "renewal-too-late",
        title: "The renewal comes when the lease is over",
        sources: &["Jedis article, class RedisDistributedLock"],
        story: "The renewal sleeps for a whole lease before it renews. When it wakes up, the key is gone, or another's.",
        cast: Cast {
            players: &[RENEWING, Player::new(JEDIS, secs(1)).heedless()],
            bounds: Bounds::ticks(6),
            tick: Duration::from_millis(250),
            ..Cast::NOBODY
        },
        violates: Property::MutualExclusion,
        sketch: Sketch { marks: &[Mark("A", "SET"), Mark("clock", "passes"), Mark("B", "SET")], blame: 1 },
        remedies: &[Remedy {
            changes: &[Change::RenewAfter(1)],
            because: "a renewal after a quarter of the lease is in time",
        }],
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
                Player { renew_after: Some(1), work: 9, ..RENEWING },
                Player { lock: 1, ends_renewal_of: Some(0), ..Player::new(JEDIS, secs(1)) }.heedless(),
                Player::new(JEDIS, secs(1)).heedless(),
            ],
            bounds: Bounds::ticks(6),
            tick: Duration::from_millis(250),
            ..Cast::NOBODY
        },
        violates: Property::MutualExclusion,
        sketch: Sketch {
            marks: &[Mark("A", "SET"), Mark("B", "EVAL"), Mark("clock", "passes"), Mark("C", "SET")],
            blame: 2,
        },
        remedies: &[Remedy { changes: &[Change::OwnRenewals], because: "a release ends its own renewal only" }],
        variations: &[],
        remark: None,
    },
];
