//! What a client is told, and what is so.

use super::cast::Cast;
use super::player::Player;
use super::protocol::Protocol;
use super::race::Race;
use super::remedy::Remedy;
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{java_article as java, jedis_article as jedis};

const JEDIS: Player = Player::old(&jedis::REDIS_DISTRIBUTED_LOCK, 1);
const ASKED_FOR_ONE: Player = Player { protocol: Protocol::Polled(&java::JAVA_TOKEN, 1), ..Player::token(1) }.trying(1);

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
        remedies: &[Remedy::all(Protocol::Token, "the release says what the script has answered")],
        variations: &[],
        remark: None,
    },
    Race {
        id: "one-attempt-short",
        title: "One try is none",
        sources: &["Java article, tryLock"],
        story: "The polling counts up and compares before it tries. Whoever asks for n tries gets n - 1, and whoever asks for one \
                is refused a lock that is free.",
        cast: Cast { players: &[ASKED_FOR_ONE], ..Cast::NOBODY },
        violates: Property::TriesAsAsked,
        sketch: Sketch { marks: &[Mark("A", "is refused: the lock is held")], blame: 0 },
        remedies: &[
            Remedy::all(Protocol::Polled(&java::JAVA_TOKEN, 2), "two tries are one"),
            Remedy::old(&java::JAVA_TOKEN, "the lock itself tries whenever it is told to"),
        ],
        variations: &[],
        remark: None,
    },
];
