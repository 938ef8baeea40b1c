//! Taking over an expired lock without asking whether another client was faster, or by asking the wrong question.

use super::participant::Participant;
use super::race::Race;
use super::remedy::Remedy;
use super::scenario::{Scenario, Setup};
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{go, php, php_article, python};
use crate::race_id::RaceId;

const PHP_DEL: Participant = Participant::old(&php_article::PHP_DEL_TAKEOVER, 2);
const CELERY: Participant = Participant::old(&python::CELERY_ONCE, 2);
const YII: Participant = Participant::old(&php::YII_REDIS_UNWRITTEN, 2);
const L2MET: Participant = Participant::old(&go::L2MET, 2).trying(1);

pub(super) const RACES: &[Race] = &[
    Race {
        id: RaceId::StampWrittenBack,
        title: "The client that takes over writes back the expired stamp",
        sources: Race::FOUND_BY_EXPLORATION,
        story: "The loop of the PHP article's section 5 puts what GET returns into the variable that it then hands to SETNX. \
                A client that takes over writes the old stamp again, and the next client finds it expired and takes the lock.",
        scenario: Scenario {
            participants: &[PHP_DEL; 2],
            setup: Setup::left_behind(&php_article::PHP_DEL_TAKEOVER),
            ..Scenario::EMPTY
        },
        violates: Property::MutualExclusion,
        sketch: Sketch {
            marks: &[
                Mark::Runs("A", "DEL"),
                Mark::Runs("A", "SETNX"),
                Mark::Runs("B", "GET"),
                Mark::Runs("B", "DEL"),
                Mark::Runs("B", "SETNX"),
            ],
            blame: 3,
        },
        remedies: &[Remedy::TOKEN],
        variations: &[],
        remark: Some("No bad luck is needed: each newcomer evicts the one before."),
    },
    Race {
        id: RaceId::GetThenSet,
        title: "Two takers overwrite each other, and both win",
        sources: &["cameronmaske/celery-once issue 7", "actionhero/node-resque issue 192"],
        story: "Two clients find the lock expired, or missing. Each writes its stamp by SET or SETEX, which never refuses and hands \
                nothing back.",
        scenario: Scenario { participants: &[CELERY; 3], ..Scenario::EMPTY },
        violates: Property::MutualExclusion,
        sketch: Sketch {
            marks: &[Mark::Runs("A", "GET"), Mark::Runs("B", "SETEX"), Mark::Runs("A", "SETEX")],
            blame: 2,
        },
        remedies: &[Remedy::TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: RaceId::TakenWithoutWriting,
        title: "Every client acquires an expired lock",
        sources: &["phpnode/YiiRedis pull request 18"],
        story: "A client that finds an expired stamp calls the lock its own and writes nothing. The next one finds the same \
                stamp.",
        scenario: Scenario {
            participants: &[YII; 3],
            setup: Setup::left_behind(&php::YII_REDIS_UNWRITTEN),
            ..Scenario::EMPTY
        },
        violates: Property::MutualExclusion,
        sketch: Sketch { marks: &[Mark::Runs("A", "GET"), Mark::Runs("B", "GET")], blame: 1 },
        remedies: &[Remedy::TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: RaceId::NewerStampWins,
        title: "A client that comes a second later has a newer stamp",
        sources: Race::FOUND_BY_EXPLORATION,
        story: "The verdict asks whether the old stamp is below the own one. A second later it always is, whether or not the \
                lease is running.",
        scenario: Scenario { participants: &[L2MET; 2], bounds: Bounds::ticks(1), ..Scenario::EMPTY },
        violates: Property::MutualExclusion,
        sketch: Sketch { marks: &[Mark::Runs("A", "GETSET"), Mark::TimePasses, Mark::Runs("B", "GETSET")], blame: 2 },
        remedies: &[Remedy::WATCHED, Remedy::TOKEN],
        variations: &[],
        remark: None,
    },
];
