//! What a client is told, and what is so.

use std::time::Duration;

use super::cast::Cast;
use super::player::Player;
use super::protocol::Protocol;
use super::race::Race;
use super::remedy::{Change, Remedy};
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{java_article as java, jedis_article as jedis};

const ONE_TRY: Protocol = Protocol::Polled(&java::JAVA_TOKEN, 1);
const JEDIS: Player = Player::new(Protocol::Dialect(&jedis::REDIS_DISTRIBUTED_LOCK), Duration::from_secs(1));

pub(super) const RACES: &[Race] = &[
Race {
    id: "unlock-says-yes-after-loss",
    title: "The release says yes to whoever has lost the lock",
    sources: &["Jedis article, class RedisDistributedLock"],
    story: "The script that compares and deletes answers whether it has deleted. Nobody looks at the answer: the release says \
            yes in any case.",
    cast: Cast { players: &[JEDIS; 2], bounds: Bounds::ticks(2), ..Cast::NOBODY },
    violates: Property::TruthfulOutcome,
    sketch: Sketch { marks: &[Mark("A", "SET"), Mark("clock", "passes"), Mark("A", "EVAL")], blame: 2 },
    remedies: &[Remedy {
        changes: &[Change::All(Protocol::Token)],
        because: "the release says what the script has answered",
    }],
    variations: &[],
    remark: None,
},
    Race {
        id: "one-attempt-short",
        title: "One try is none",
        sources: &["Java article, tryLock"],
        story: "The polling counts up before it tries, and compares before it tries. Whoever asks for n tries gets n - 1, and \
                whoever asks for one is refused a lock that is free.",
        cast: Cast { players: &[Player::new(ONE_TRY, Duration::from_secs(1)).trying(1)], ..Cast::NOBODY },
        violates: Property::TriesAsAsked,
        sketch: Sketch { marks: &[Mark("A", "is refused: the lock is held")], blame: 0 },
        remedies: &[Remedy {
            changes: &[Change::All(Protocol::Dialect(&java::JAVA_TOKEN))],
            because: "the lock tries as often as it is told",
        }],
        variations: &[],
        remark: None,
    },
];
