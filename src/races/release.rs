//! Giving a lock back: whose was it?

use super::cast::Cast;
use super::player::Player;
use super::race::Race;
use super::remedy::Remedy;
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{java_article as java, jedis_article as jedis, php_article as php, python};

const LUA: Player = Player::old(&java::JAVA_LUA, 1);
const CHECK_DEL: Player = Player::old(&jedis::NAIVE_CHECK_DEL, 1);
/// These work until their lease is over, and only then look whose the lock is.
const LATE_PHP: Player = Player::old(&php::PHP_GETSET, 1).working(2);
const LATE_REDIS_PY: Player = Player::old(&python::REDIS_PY_2_8, 1).working(2);

pub(super) const RACES: &[Race] = &[
    Race {
        id: "late-unlock",
        title: "A late release frees somebody else's lock",
        sources: &["Java article, addition", "Jedis article"],
        story: "A client works past its lease, another one acquires, and the first one's DEL frees the lock of the second.",
        cast: Cast { players: &[LUA; 3], bounds: Bounds::ticks(4), ..Cast::NOBODY },
        violates: Property::ReleasesOnlyOwn,
        sketch: Sketch { marks: &[Mark("A", "EVALSHA"), Mark("B", "EVALSHA"), Mark("A", "DEL")], blame: 2 },
        remedies: &[
            Remedy::old(&java::JAVA_TOKEN, "the value names its owner, and a script compares it and deletes"),
            Remedy::TOKEN,
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
        cast: Cast { players: &[LATE_PHP; 2], bounds: Bounds::ticks(3), ..Cast::NOBODY },
        violates: Property::ReleasesOnlyOwn,
        sketch: Sketch {
            marks: &[Mark("A", "SETNX"), Mark("B", "SETNX"), Mark("A", "TTL"), Mark("A", "DEL")],
            blame: 3,
        },
        remedies: &[Remedy::TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: "check-then-del",
        title: "Between the check and the DEL the lock changes hands",
        sources: &["Jedis article"],
        story: "GET finds the own value. The lease ends, another client acquires, and the DEL that was decided before frees that \
                one's lock.",
        cast: Cast { players: &[CHECK_DEL; 3], bounds: Bounds::ticks(4), ..Cast::NOBODY },
        violates: Property::ReleasesOnlyOwn,
        sketch: Sketch { marks: &[Mark("A", "GET"), Mark("B", "SET"), Mark("A", "DEL")], blame: 2 },
        remedies: &[
            Remedy::old(&java::JAVA_TOKEN, "a script compares and deletes with nobody in between"),
            Remedy::TOKEN,
        ],
        variations: &[],
        remark: None,
    },
    Race {
        id: "later-owner-satisfies-ge",
        title: "A later owner's stamp passes for one's own",
        sources: &["redis/redis-py issue 415"],
        story: "The release deletes the key if its stamp is not below the own one. The next owner's stamp never is.",
        cast: Cast { players: &[LATE_REDIS_PY; 2], bounds: Bounds::ticks(3), ..Cast::NOBODY },
        violates: Property::ReleasesOnlyOwn,
        sketch: Sketch { marks: &[Mark("B", "GETSET"), Mark("A", "GET"), Mark("A", "DEL")], blame: 2 },
        remedies: &[Remedy::old(&python::REDIS_PY_2_10, "the value is a token, compared under WATCH"), Remedy::TOKEN],
        variations: &[],
        remark: None,
    },
];
