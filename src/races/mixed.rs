//! Fleets of several dialects on one key.

use super::participant::Participant;
use super::protocol::RaceProtocol;
use super::race::{Race, Variation};
use super::remedy::Remedy;
use super::scenario::Scenario;
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{java, java_article, php_article as php};
use crate::race_id::RaceId;

const PHP7: Participant = Participant::old(&php::PHP7_GETSET, 2);
const PHP8: Participant = Participant::old(&php::PHP_GETSET, 2);
const JAVA: Participant = Participant::old(&java_article::JAVA_GETSET, 2);
const JEDIS: Participant = Participant::old(&java::JEDIS_LOCK, 2);
const TOKEN: Participant = Participant::token(2);
/// PHP 8 compares as text what is no number: such a token sorts below every stamp of these years.
const LOW_TOKEN: Participant = Participant { token_begins: Some(0x0f), ..TOKEN };

/// One client may die; then all leases run out.
const A_DEATH: Bounds = Bounds::ticks(1).crashes(1).afterwards(100);

const STEALS: Sketch = Sketch { marks: &[Mark::Runs("B", "GET"), Mark::Runs("B", "GETSET")], blame: 1 };
const STARVES: Sketch = Sketch { marks: &[Mark::Runs("A", "SETNX"), Mark::Crashes("A")], blame: 1 };

const ALL_TOKENS: Remedy = Remedy::all(RaceProtocol::TOKEN, "one protocol to a key");
const ALL_PHP: Remedy = Remedy::old(&php::PHP_GETSET, "one dialect to a key");
const ALL_JAVA: Remedy = Remedy::old(&java_article::JAVA_GETSET, "one dialect to a key");
const ALL_JEDIS: Remedy = Remedy::old(&java::JEDIS_LOCK, "one dialect to a key");

/// These two on one key: the second takes the first one's lock.
const fn stolen(what: &'static str, participants: &'static [Participant]) -> Variation {
    let scenario = Scenario { participants, ..Scenario::EMPTY };
    Variation { what, scenario, violates: Property::MutualExclusion, sketch: STEALS }
}

/// These two on one key: if the first dies, the second waits for ever.
const fn starved(what: &'static str, participants: &'static [Participant]) -> Variation {
    let scenario = Scenario { participants, bounds: A_DEATH, ..Scenario::EMPTY };
    Variation { what, scenario, violates: Property::CanBeTakenAgain, sketch: STARVES }
}

pub(super) const RACES: &[Race] = &[
    Race {
        id: RaceId::TokenReadAsStamp,
        title: "PHP reads a token as the year 1970",
        sources: &["mixed fleets"],
        story: "To PHP before 8 a text that begins with no digit is 0, and 0 is long over. It takes every such token lock.",
        scenario: Scenario { participants: &[TOKEN, PHP7], ..Scenario::EMPTY },
        violates: Property::MutualExclusion,
        sketch: STEALS,
        remedies: &[ALL_TOKENS],
        variations: &[stolen("PHP 8, and a token that begins with 0", &[LOW_TOKEN, PHP8])],
        remark: None,
    },
    Race {
        id: RaceId::BinaryReadAsStamp,
        title: "PHP reads eight bytes as the year 1970",
        sources: &["mixed fleets", "PHP article beside the Java article"],
        story: "Eight bytes of which the first is zero are below every number to any PHP. It takes every lock of the Java client.",
        scenario: Scenario { participants: &[JAVA, PHP8], ..Scenario::EMPTY },
        violates: Property::MutualExclusion,
        sketch: STEALS,
        remedies: &[ALL_PHP, ALL_JAVA],
        variations: &[
            stolen("PHP before 8", &[JAVA, PHP7]),
            starved("the other way round, Java never gets PHP's", &[PHP8.trying(1), JAVA]),
        ],
        remark: None,
    },
    Race {
        id: RaceId::SecondsReadAsMillis,
        title: "A stamp in seconds, read as milliseconds, is in January 1970",
        sources: &["mixed fleets"],
        story: "A client that counts in milliseconds takes every lock of one that counts in seconds.",
        scenario: Scenario { participants: &[PHP8, JEDIS], ..Scenario::EMPTY },
        violates: Property::MutualExclusion,
        sketch: STEALS,
        remedies: &[ALL_PHP, ALL_JEDIS],
        variations: &[starved("the other way round, for fifty thousand years", &[JEDIS.trying(1), PHP8])],
        remark: None,
    },
    Race {
        id: RaceId::TokenClientStarves,
        title: "SET NX PX waits for ever for an old lock",
        sources: &["mixed fleets"],
        story: "An old client that dies leaves a key without a time to live. Old clients would take it by its stamp; SET NX PX \
                cannot.",
        scenario: Scenario { participants: &[JEDIS.trying(1), TOKEN], bounds: A_DEATH, ..Scenario::EMPTY },
        violates: Property::CanBeTakenAgain,
        sketch: STARVES,
        remedies: &[ALL_TOKENS],
        variations: &[],
        remark: None,
    },
];
