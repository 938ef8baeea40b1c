//! Fleets of several dialects on one key.

use std::time::Duration;

use super::cast::Cast;
use super::player::Player;
use super::protocol::Protocol;
use super::race::{Race, Variation};
use super::remedy::{Change, Remedy};
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{java, java_article, php_article as php};

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

const PHP7: Player = Player::new(Protocol::Dialect(&php::PHP7_GETSET), secs(2));
const PHP8: Player = Player::new(Protocol::Dialect(&php::PHP_GETSET), secs(2));
const JAVA: Player = Player::new(Protocol::Dialect(&java_article::JAVA_GETSET), secs(2));
const JEDIS: Player = Player::new(Protocol::Dialect(&java::JEDIS_LOCK), secs(2));
const TOKEN: Player = Player::new(Protocol::Token, secs(2));

/// One client may die; then all leases run out.
const A_DEATH: Bounds = Bounds { crashes: 1, afterwards: Some(100), ..Bounds::ticks(1) };

const ALL_TOKENS: Remedy = Remedy { changes: &[Change::All(Protocol::Token)], because: "one protocol to a key" };
const ALL_PHP: Remedy =
    Remedy { changes: &[Change::All(Protocol::Dialect(&php::PHP_GETSET))], because: "one dialect to a key" };
const ALL_JAVA: Remedy =
    Remedy { changes: &[Change::All(Protocol::Dialect(&java_article::JAVA_GETSET))], because: "one dialect to a key" };

const STEALS: Sketch = Sketch { marks: &[Mark("B", "GET"), Mark("B", "GETSET")], blame: 1 };

pub(super) const RACES: &[Race] = &[
    Race {
        id: "token-read-as-stamp",
        title: "PHP reads a token as the year 1970",
        sources: &["found in mixed fleets"],
        story: "To PHP before 8 a text that begins with no digit is 0, and 0 is long over. It takes every such token lock.",
        cast: Cast { players: &[TOKEN, PHP7], ..Cast::NOBODY },
        violates: Property::MutualExclusion,
        sketch: STEALS,
        remedies: &[ALL_TOKENS],
        variations: &[Variation {
            what: "PHP 8, and a token that begins with 0",
            cast: Cast { players: &[Player { token_begins: Some(0x0f), ..TOKEN }, PHP8], ..Cast::NOBODY },
            violates: Property::MutualExclusion,
            sketch: STEALS,
        }],
        remark: None,
    },
    Race {
        id: "binary-read-as-stamp",
        title: "PHP reads eight bytes as the year 1970",
        sources: &["found in mixed fleets", "PHP article beside the Java article"],
        story: "Eight bytes with a zero in front are below every number to any PHP. It takes every lock of the Java client.",
        cast: Cast { players: &[JAVA, PHP8], ..Cast::NOBODY },
        violates: Property::MutualExclusion,
        sketch: STEALS,
        remedies: &[ALL_PHP, ALL_JAVA],
        variations: &[
            Variation {
                what: "PHP before 8",
                cast: Cast { players: &[JAVA, PHP7], ..Cast::NOBODY },
                violates: Property::MutualExclusion,
                sketch: STEALS,
            },
            Variation {
                what: "the Java client never gets PHP's",
                cast: Cast { players: &[PHP8.trying(1), JAVA], bounds: A_DEATH, ..Cast::NOBODY },
                violates: Property::CanBeTakenAgain,
                sketch: Sketch { marks: &[Mark("A", "SETNX"), Mark("A", "dies")], blame: 1 },
            },
        ],
        remark: None,
    },
    Race {
        id: "seconds-read-as-millis",
        title: "A stamp in seconds, read as milliseconds, is in January 1970",
        sources: &["found in mixed fleets"],
        story: "A client that counts in milliseconds takes every lock of one that counts in seconds.",
        cast: Cast { players: &[PHP8, JEDIS], ..Cast::NOBODY },
        violates: Property::MutualExclusion,
        sketch: STEALS,
        remedies: &[ALL_PHP],
        variations: &[Variation {
            what: "the other way round, it waits for some fifty thousand years",
            cast: Cast { players: &[JEDIS.trying(1), PHP8], bounds: A_DEATH, ..Cast::NOBODY },
            violates: Property::CanBeTakenAgain,
            sketch: Sketch { marks: &[Mark("A", "SETNX"), Mark("A", "dies")], blame: 1 },
        }],
        remark: None,
    },
    Race {
        id: "token-client-starves",
        title: "SET NX PX waits for ever for an old lock",
        sources: &["found in mixed fleets"],
        story: "An old client that dies leaves a key without a time to live. Old clients would take it by its stamp; SET NX PX \
                cannot.",
        cast: Cast { players: &[JEDIS.trying(1), TOKEN], bounds: A_DEATH, ..Cast::NOBODY },
        violates: Property::CanBeTakenAgain,
        sketch: Sketch { marks: &[Mark("A", "SETNX"), Mark("A", "dies")], blame: 1 },
        remedies: &[ALL_TOKENS],
        variations: &[],
        remark: None,
    },
];
