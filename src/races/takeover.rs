//! Taking over an expired lock by GETSET: the first client wins, and the others have written all the same.

use super::participant::Participant;
use super::race::{Race, Variation};
use super::remedy::Remedy;
use super::scenario::{Scenario, Setup};
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{java, java_article, php_article, redis_page};
use crate::race_id::RaceId;

const DEL_SETNX: Participant = Participant::old(&redis_page::SETNX_PAGE_DEL, 2);
const JEDIS_2015: Participant = Participant::old(&java::JEDIS_LOCK_2015, 2);
const PHP: Participant = Participant::old(&php_article::PHP_GETSET, 3);
/// Works until the end, so that no release plays a part.
const BUSY_PHP: Participant = PHP.working(99);
const BUSY_JAVA: Participant = Participant::old(&java_article::JAVA_GETSET, 3).working(99);

const MOVES: Sketch =
    Sketch { marks: &[Mark::Runs("B", "GET"), Mark::Runs("A", "GETSET"), Mark::Runs("B", "GETSET")], blame: 2 };
const STALE: Sketch = Sketch {
    marks: &[Mark::Runs("B", "GET"), Mark::Runs("A", "GETSET"), Mark::Runs("B", "GETSET"), Mark::Runs("B", "GETSET")],
    blame: 2,
};

pub(super) const RACES: &[Race] = &[
    Race {
        id: RaceId::DoubleTakeover,
        title: "Two clients each delete the other's lock",
        sources: &["PHP article, section 5", "Java article", "Redis SETNX page"],
        story: "Two clients read the same expired stamp. One deletes the key and sets its own; the other, a step behind, \
                deletes that and sets its own.",
        scenario: Scenario {
            participants: &[DEL_SETNX; 3],
            setup: Setup::left_behind(&redis_page::SETNX_PAGE_DEL),
            ..Scenario::EMPTY
        },
        violates: Property::MutualExclusion,
        sketch: Sketch {
            marks: &[
                Mark::Runs("A", "DEL"),
                Mark::Runs("A", "SETNX"),
                Mark::Runs("B", "DEL"),
                Mark::Runs("B", "SETNX"),
            ],
            blame: 2,
        },
        remedies: &[
            Remedy::old(
                &redis_page::SETNX_PAGE,
                "GETSET returns what it overwrites: a client that finds a live stamp there knows that it was late",
            ),
            Remedy::TOKEN,
        ],
        variations: &[],
        remark: None,
    },
    Race {
        id: RaceId::LoserMovesLease,
        title: "The loser of a takeover moves the winner's lease",
        sources: &["PHP article, section 5", "Java article"],
        story: "Two clients find the same stamp expired. The second GETSET tells its sender that it has lost, and has already put \
                the loser's stamp in the place of the winner's.",
        scenario: Scenario {
            participants: &[PHP; 3],
            setup: Setup::left_behind(&php_article::PHP_GETSET),
            bounds: Bounds::ticks(1),
            ..Scenario::EMPTY
        },
        violates: Property::LeaseHonoured,
        sketch: MOVES,
        remedies: &[Remedy::TOKEN],
        variations: &[Variation {
            what: "the same in the Java dialect",
            scenario: Scenario {
                participants: &[BUSY_JAVA; 2],
                setup: Setup::left_behind(&java_article::JAVA_GETSET),
                bounds: Bounds::ticks(1),
                ..Scenario::EMPTY
            },
            violates: Property::LeaseHonoured,
            sketch: MOVES,
        }],
        remark: Some(
            "Both articles call the error negligible. It is as long as the loser was held up between making its stamp and \
             sending GETSET, in either direction, and has no bound.",
        ),
    },
    Race {
        id: RaceId::StaleStampShortensLease,
        title: "A loser that was held up ends the winner's lease early",
        sources: &["derived from the PHP article and the Java article"],
        story: "A client makes its stamp and is held up before its GETSET. Meanwhile another takes the lock. The late GETSET \
                loses, but leaves a stamp that expires before the winner's lease does, and a third client takes the lock.",
        scenario: Scenario {
            participants: &[BUSY_PHP; 2],
            setup: Setup::left_behind(&php_article::PHP_GETSET),
            bounds: Bounds::ticks(4),
            ..Scenario::EMPTY
        },
        violates: Property::MutualExclusion,
        sketch: STALE,
        remedies: &[Remedy::WATCHED, Remedy::TOKEN],
        variations: &[Variation {
            what: "the second of tolerance in the Java dialect does not help: the loser's stamp has it too",
            scenario: Scenario {
                participants: &[BUSY_JAVA; 2],
                setup: Setup::left_behind(&java_article::JAVA_GETSET),
                bounds: Bounds::ticks(6),
                ..Scenario::EMPTY
            },
            violates: Property::MutualExclusion,
            sketch: STALE,
        }],
        remark: Some(
            "No third client is needed: the loser itself tries again, finds its own expired stamp and takes the lock. If it \
             was held up for longer than a lease, it does so at once.",
        ),
    },
    Race {
        id: RaceId::MineCountsAsFree,
        title: "The loser finds its own name in the winner's lock",
        sources: &["abelaska/jedis-lock issue 8"],
        story: "A losing GETSET has written the loser's name. On its next try it finds that name, takes the lock for its own, \
                and walks in beside the winner.",
        scenario: Scenario {
            participants: &[JEDIS_2015; 3],
            setup: Setup::left_behind(&java::JEDIS_LOCK_2015),
            ..Scenario::EMPTY
        },
        violates: Property::MutualExclusion,
        sketch: Sketch {
            marks: &[
                Mark::Runs("A", "GETSET"),
                Mark::Runs("B", "GETSET"),
                Mark::Runs("B", "GET"),
                Mark::Runs("B", "GETSET"),
            ],
            blame: 1,
        },
        remedies: &[Remedy::TOKEN],
        variations: &[],
        remark: None,
    },
];
