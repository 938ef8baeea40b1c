//! What a reply makes a client believe, and what is true.

use super::participant::Participant;
use super::protocol::RaceProtocol;
use super::race::Race;
use super::remedy::Remedy;
use super::scenario::Scenario;
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Outcome, Property};
use crate::legacy::catalogue::{java_article as java, jedis_article as jedis};
use crate::race_id::RaceId;

const JEDIS: Participant = Participant::old(&jedis::REDIS_DISTRIBUTED_LOCK, 1);
const ASKED_FOR_ONE: Participant =
    Participant { protocol: RaceProtocol::Polled(&java::JAVA_TOKEN, 1), ..Participant::token(1) }.trying(1);

pub(super) const RACES: &[Race] = &[
    Race {
        id: RaceId::UnlockSaysYesAfterLoss,
        title: "The release returns true although the lock was lost",
        sources: &["Jedis article, class RedisDistributedLock"],
        story: "The script that compares and deletes replies whether it has deleted. The client ignores the reply: the release says \
                yes in any case.",
        scenario: Scenario { participants: &[JEDIS; 2], bounds: Bounds::ticks(2), ..Scenario::EMPTY },
        violates: Property::TruthfulOutcome,
        sketch: Sketch { marks: &[Mark::Runs("A", "SET"), Mark::TimePasses, Mark::Runs("A", "EVAL")], blame: 2 },
        remedies: &[Remedy::all(RaceProtocol::TOKEN, "the release says what the script has answered")],
        variations: &[],
        remark: None,
    },
    Race {
        id: RaceId::OneAttemptShort,
        title: "One try is none",
        sources: &["Java article, tryLock"],
        story: "The polling counts up and compares before it tries. A caller that asks for n attempts gets n - 1, and one that asks for one \
                is refused a lock that is free.",
        scenario: Scenario { participants: &[ASKED_FOR_ONE], ..Scenario::EMPTY },
        violates: Property::TriesAsAsked,
        sketch: Sketch { marks: &[Mark::Ends("A", Outcome::Held)], blame: 0 },
        remedies: &[
            Remedy::all(RaceProtocol::Polled(&java::JAVA_TOKEN, 2), "two tries are one"),
            Remedy::old(&java::JAVA_TOKEN, "the lock itself tries whenever its caller asks"),
        ],
        variations: &[],
        remark: None,
    },
];
