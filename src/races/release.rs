//! Giving a lock back: whose was it?

use std::time::Duration;

use super::cast::Cast;
use super::player::Player;
use super::protocol::Protocol;
use super::race::Race;
use super::remedy::{Change, Remedy};
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{java_article as java, jedis_article as jedis, php_article as php, python};

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

const COMPARE_AND_DELETE: Remedy = Remedy {
    changes: &[Change::All(Protocol::Token)],
    because: "the script compares and deletes with nobody in between",
};

pub(super) const RACES: &[Race] = &[
    Race {
        id: "late-unlock",
        title: "A late release frees somebody else's lock",
        sources: &["Java article, addition", "Jedis article"],
        story: "A client works past its lease, another one acquires, and the first one's DEL frees the lock of the second.",
        cast: Cast {
            players: &[Player::new(Protocol::Dialect(&java::JAVA_LUA), secs(1)); 2],
            bounds: Bounds::ticks(2),
            ..Cast::NOBODY
        },
        violates: Property::ReleasesOnlyOwn,
        sketch: Sketch { marks: &[Mark("A", "EVALSHA"), Mark("B", "EVALSHA"), Mark("A", "DEL")], blame: 2 },
        remedies: &[
            Remedy {
                changes: &[Change::All(Protocol::Dialect(&java::JAVA_TOKEN))],
                because: "the value names its owner, and the script compares it and deletes with nobody in between",
            },
            COMPARE_AND_DELETE,
        ],
        variations: &[],
        remark: None,
    },
    Race {
        id: "ttl-is-not-ownership",
        title: "A time to live says that there is a lock, not whose",
        sources: &["PHP article, complete code"],
        story: "The release asks for the time to live and deletes the key if there is one. After an overrun that is the next \
                holder's.",
        cast: Cast {
            players: &[Player::new(Protocol::Dialect(&php::PHP_GETSET), secs(1)).working(2); 2],
            bounds: Bounds::ticks(3),
            ..Cast::NOBODY
        },
        violates: Property::ReleasesOnlyOwn,
        sketch: Sketch {
            marks: &[Mark("A", "SETNX"), Mark("B", "SETNX"), Mark("A", "TTL"), Mark("A", "DEL")],
            blame: 3,
        },
        remedies: &[COMPARE_AND_DELETE],
        variations: &[],
        remark: None,
    },
    Race {
        id: "check-then-del",
        title: "Between the check and the DEL the lock changes hands",
        sources: &["Jedis article"],
        story: "GET finds the own value. The lease ends, another client acquires, and the DEL that was decided before frees its \
                lock.",
        cast: Cast {
            players: &[Player::new(Protocol::Dialect(&jedis::NAIVE_CHECK_DEL), secs(1)); 2],
            bounds: Bounds::ticks(2),
            ..Cast::NOBODY
        },
        violates: Property::ReleasesOnlyOwn,
        sketch: Sketch { marks: &[Mark("A", "GET"), Mark("B", "SET"), Mark("A", "DEL")], blame: 2 },
        remedies: &[COMPARE_AND_DELETE],
        variations: &[],
        remark: None,
    },
    Race {
        id: "later-owner-satisfies-ge",
        title: "A later owner's stamp passes for one's own",
        sources: &["redis/redis-py issue 415"],
        story: "The release deletes the key if its stamp is not below the own one. The next owner's stamp never is.",
        cast: Cast {
            players: &[Player::new(Protocol::Dialect(&python::REDIS_PY_2_8), secs(1)).working(2); 2],
            bounds: Bounds::ticks(2),
            ..Cast::NOBODY
        },
        violates: Property::ReleasesOnlyOwn,
        sketch: Sketch { marks: &[Mark("B", "GETSET"), Mark("A", "GET"), Mark("A", "DEL")], blame: 2 },
        remedies: &[COMPARE_AND_DELETE],
        variations: &[],
        remark: None,
    },
    Race {
        id: "rounded-stamp-misses-release",
        title: "The own stamp is not recognised because it was printed rounded",
        sources: &["redis/redis-py pull request 384"],
        story: "Python's str keeps twelve digits of a float. The stamp that comes back is below the one in memory, the release \
                takes it for an earlier owner's, and everybody sits out the lease.",
        cast: Cast {
            players: &[
                Player::new(Protocol::Dialect(&python::REDIS_PY_2_2), Duration::from_micros(1_004_999)).trying(1)
            ],
            ..Cast::NOBODY
        },
        violates: Property::NoPhantom,
        sketch: Sketch { marks: &[Mark("A", "SETNX"), Mark("A", "GET")], blame: 0 },
        remedies: &[
            Remedy {
                changes: &[Change::All(Protocol::Dialect(&python::REDIS_PY_2_7))],
                because: "repr prints every digit",
            },
            COMPARE_AND_DELETE,
        ],
        variations: &[],
        remark: None,
    },
];
