//! Giving a lock back: whose was it?

use super::participant::Participant;
use super::race::Race;
use super::remedy::Remedy;
use super::scenario::Scenario;
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{java_article as java, jedis_article as jedis, php_article as php, python};
use crate::race_id::RaceId;

const LUA: Participant = Participant::old(&java::JAVA_LUA, 1);
const CHECK_DEL: Participant = Participant::old(&jedis::NAIVE_CHECK_DEL, 1);
/// These work until their lease expires, and only then look whose the lock is.
const LATE_PHP: Participant = Participant::old(&php::PHP_GETSET, 1).working(2);
const LATE_REDIS_PY: Participant = Participant::old(&python::REDIS_PY_2_8, 1).working(2);

pub(super) const RACES: &[Race] = &[
    Race {
        id: RaceId::LateUnlock,
        title: "A late release frees another client's lock",
        sources: &["Java article, addition", "Jedis article"],
        story: "A client works past its lease, another one acquires, and the first one's DEL frees the lock of the second.",
        scenario: Scenario { participants: &[LUA; 3], bounds: Bounds::ticks(4), ..Scenario::EMPTY },
        violates: Property::ReleasesOnlyOwn,
        sketch: Sketch {
            marks: &[Mark::Runs("A", "EVALSHA"), Mark::Runs("B", "EVALSHA"), Mark::Runs("A", "DEL")],
            blame: 2,
        },
        remedies: &[
            Remedy::old(&java::JAVA_TOKEN, "the value names its owner, and a script compares it and deletes"),
            Remedy::TOKEN,
        ],
        variations: &[],
        remark: None,
    },
    Race {
        id: RaceId::TtlIsNotOwnership,
        title: "A time to live says that there is a lock, not whose",
        sources: &["PHP article, complete code"],
        story: "The release asks for the time to live and deletes the key if there is one. After an overrun that is the next \
                holder's.",
        scenario: Scenario { participants: &[LATE_PHP; 2], bounds: Bounds::ticks(3), ..Scenario::EMPTY },
        violates: Property::ReleasesOnlyOwn,
        sketch: Sketch {
            marks: &[
                Mark::Runs("A", "SETNX"),
                Mark::Runs("B", "SETNX"),
                Mark::Runs("A", "TTL"),
                Mark::Runs("A", "DEL"),
            ],
            blame: 3,
        },
        remedies: &[Remedy::TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: RaceId::CheckThenDel,
        title: "Between the check and the DEL the lock changes hands",
        sources: &["Jedis article"],
        story: "GET finds the own value. The lease ends, another client acquires, and the DEL that was decided before frees that \
                one's lock.",
        scenario: Scenario { participants: &[CHECK_DEL; 3], bounds: Bounds::ticks(4), ..Scenario::EMPTY },
        violates: Property::ReleasesOnlyOwn,
        sketch: Sketch { marks: &[Mark::Runs("A", "GET"), Mark::Runs("B", "SET"), Mark::Runs("A", "DEL")], blame: 2 },
        remedies: &[
            Remedy::old(&java::JAVA_TOKEN, "no other command runs between the comparison and the deletion of a script"),
            Remedy::TOKEN,
        ],
        variations: &[],
        remark: None,
    },
    Race {
        id: RaceId::LaterOwnerSatisfiesGe,
        title: "A later owner's stamp passes for one's own",
        sources: &["redis/redis-py issue 415"],
        story: "The release deletes the key if its stamp is not below the own one. The next owner's stamp never is.",
        scenario: Scenario { participants: &[LATE_REDIS_PY; 2], bounds: Bounds::ticks(3), ..Scenario::EMPTY },
        violates: Property::ReleasesOnlyOwn,
        sketch: Sketch {
            marks: &[Mark::Runs("B", "GETSET"), Mark::Runs("A", "GET"), Mark::Runs("A", "DEL")],
            blame: 2,
        },
        remedies: &[Remedy::old(&python::REDIS_PY_2_10, "the value is a token, compared under WATCH"), Remedy::TOKEN],
        variations: &[],
        remark: None,
    },
];
