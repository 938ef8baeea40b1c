//! Taking a lock that is over by GETSET: the first one wins, and the others have written all the same.

use super::cast::{Cast, Start};
use super::player::Player;
use super::race::{Race, Variation};
use super::remedy::Remedy;
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{java, java_article, php_article, redis_page};

const DEL_SETNX: Player = Player::old(&redis_page::SETNX_PAGE_DEL, 2);
const JEDIS_2015: Player = Player::old(&java::JEDIS_LOCK_2015, 2);
const PHP: Player = Player::old(&php_article::PHP_GETSET, 3);
/// Works until the end, so that nobody's release plays a part.
const BUSY_PHP: Player = PHP.working(99);
const BUSY_JAVA: Player = Player::old(&java_article::JAVA_GETSET, 3).working(99);

const MOVES: Sketch = Sketch { marks: &[Mark("B", "GET"), Mark("A", "GETSET"), Mark("B", "GETSET")], blame: 2 };
const STALE: Sketch =
    Sketch { marks: &[Mark("B", "GET"), Mark("A", "GETSET"), Mark("B", "GETSET"), Mark("B", "GETSET")], blame: 2 };

pub(super) const RACES: &[Race] = &[
    Race {
        id: "double-takeover",
        title: "Two clients each delete the other's lock",
        sources: &["PHP article, section 5", "Java article", "Redis SETNX page"],
        story: "Two clients read the same stamp that is over. One deletes the key and sets its own; the other, a step behind, \
                deletes that and sets its own.",
        cast: Cast { players: &[DEL_SETNX; 3], start: Start::left_behind(&redis_page::SETNX_PAGE_DEL), ..Cast::NOBODY },
        violates: Property::MutualExclusion,
        sketch: Sketch {
            marks: &[Mark("A", "DEL"), Mark("A", "SETNX"), Mark("B", "DEL"), Mark("B", "SETNX")],
            blame: 2,
        },
        remedies: &[
            Remedy::old(
                &redis_page::SETNX_PAGE,
                "GETSET hands back what it overwrites: whoever finds a live stamp there knows that he was late",
            ),
            Remedy::WATCHED,
            Remedy::TOKEN,
        ],
        variations: &[],
        remark: None,
    },
    Race {
        id: "loser-moves-lease",
        title: "The loser of a takeover moves the winner's lease",
        sources: &["PHP article, section 5", "Java article"],
        story: "Two clients find the same stamp over. The second GETSET tells its sender that it has lost, and has already put \
                the loser's stamp in the place of the winner's.",
        cast: Cast {
            players: &[PHP; 3],
            start: Start::left_behind(&php_article::PHP_GETSET),
            bounds: Bounds::ticks(1),
            ..Cast::NOBODY
        },
        violates: Property::LeaseHonoured,
        sketch: MOVES,
        remedies: &[Remedy::WATCHED, Remedy::TOKEN],
        variations: &[Variation {
            what: "the same in the Java dialect",
            cast: Cast {
                players: &[BUSY_JAVA; 2],
                start: Start::left_behind(&java_article::JAVA_GETSET),
                bounds: Bounds::ticks(1),
                ..Cast::NOBODY
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
        id: "stale-stamp-shortens-lease",
        title: "A loser that was held up ends the winner's lease early",
        sources: &["derived from the PHP article and the Java article"],
        story: "A client makes its stamp and is held up before its GETSET. Meanwhile another takes the lock. The late GETSET \
                loses, but leaves a stamp that is over before the winner's lease is, and the lock is taken from him.",
        cast: Cast {
            players: &[BUSY_PHP; 2],
            start: Start::left_behind(&php_article::PHP_GETSET),
            bounds: Bounds::ticks(4),
            ..Cast::NOBODY
        },
        violates: Property::MutualExclusion,
        sketch: STALE,
        remedies: &[Remedy::WATCHED, Remedy::TOKEN],
        variations: &[Variation {
            what: "the second of tolerance in the Java dialect helps nobody: the loser's stamp has it too",
            cast: Cast {
                players: &[BUSY_JAVA; 2],
                start: Start::left_behind(&java_article::JAVA_GETSET),
                bounds: Bounds::ticks(6),
                ..Cast::NOBODY
            },
            violates: Property::MutualExclusion,
            sketch: STALE,
        }],
        remark: Some(
            "No third client is needed: the loser itself tries again, finds its own stale stamp over and takes the lock. If it \
             was held up for longer than a lease, it does so at once.",
        ),
    },
    Race {
        id: "mine-counts-as-free",
        title: "The loser finds its own name in the winner's lock",
        sources: &["abelaska/jedis-lock issue 8"],
        story: "A losing GETSET has written the loser's name. On its next try it finds that name, takes the lock for its own, \
                and walks in beside the winner.",
        cast: Cast { players: &[JEDIS_2015; 3], start: Start::left_behind(&java::JEDIS_LOCK_2015), ..Cast::NOBODY },
        violates: Property::MutualExclusion,
        sketch: Sketch {
            marks: &[Mark("A", "GETSET"), Mark("B", "GETSET"), Mark("B", "GET"), Mark("B", "GETSET")],
            blame: 1,
        },
        remedies: &[
            Remedy::old(&java::JEDIS_LOCK, "a stamp without a name is nobody's own"),
            Remedy::WATCHED,
            Remedy::TOKEN,
        ],
        variations: &[],
        remark: None,
    },
];
