//! What a client is told, and what is so.

use std::time::Duration;

use super::cast::Cast;
use super::player::Player;
use super::protocol::Protocol;
use super::race::Race;
use super::remedy::{Change, Remedy};
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::jedis_article as jedis;

const JEDIS: Player = Player::new(Protocol::Dialect(&jedis::REDIS_DISTRIBUTED_LOCK), Duration::from_secs(1));

pub(super) const RACES: &[Race] = &[Race {
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
}];
