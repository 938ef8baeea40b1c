//! Fleets of several dialects on one key.

use super::cast::Cast;
use super::player::Player;
use super::protocol::Protocol;
use super::race::{Race, Variation};
use super::remedy::Remedy;
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{java, java_article, php_article as php};

const PHP7: Player = Player::old(&php::PHP7_GETSET, 2);
const PHP8: Player = Player::old(&php::PHP_GETSET, 2);
const JAVA: Player = Player::old(&java_article::JAVA_GETSET, 2);
const JEDIS: Player = Player::old(&java::JEDIS_LOCK, 2);
const TOKEN: Player = Player::token(2);
/// PHP 8 compares as text what is no number: such a token sorts below every stamp of these years.
const LOW_TOKEN: Player = Player { token_begins: Some(0x0f), ..TOKEN };

/// One client may die; then all leases run out.
const A_DEATH: Bounds = Bounds { crashes: 1, afterwards: Some(100), ..Bounds::ticks(1) };

const STEALS: Sketch = Sketch { marks: &[Mark("B", "GET"), Mark("B", "GETSET")], blame: 1 };
const STARVES: Sketch = Sketch { marks: &[Mark("A", "SETNX"), Mark("A", "dies")], blame: 1 };

const ALL_TOKENS: Remedy = Remedy::all(Protocol::Token, "one protocol to a key");
const ALL_PHP: Remedy = Remedy::old(&php::PHP_GETSET, "one dialect to a key");
const ALL_JAVA: Remedy = Remedy::old(&java_article::JAVA_GETSET, "one dialect to a key");
const ALL_JEDIS: Remedy = Remedy::old(&java::JEDIS_LOCK, "one dialect to a key");

/// These two on one key: the second takes the first one's lock.
const fn stolen(what: &'static str, players: &'static [Player]) -> Variation {
    let cast = Cast { players, ..Cast::NOBODY };
    Variation { what, cast, violates: Property::MutualExclusion, sketch: STEALS }
}

/// These two on one key: if the first dies, the second waits for ever.
const fn starved(what: &'static str, players: &'static [Player]) -> Variation {
    let cast = Cast { players, bounds: A_DEATH, ..Cast::NOBODY };
    Variation { what, cast, violates: Property::CanBeTakenAgain, sketch: STARVES }
}

pub(super) const RACES: &[Race] = &[
    Race {
        id: "token-read-as-stamp",
        title: "PHP reads a token as the year 1970",
        sources: &["mixed fleets"],
        story: "To PHP before 8 a text that begins with no digit is 0, and 0 is long over. It takes every such token lock.",
        cast: Cast { players: &[TOKEN, PHP7], ..Cast::NOBODY },
        violates: Property::MutualExclusion,
        sketch: STEALS,
        remedies: &[ALL_TOKENS],
        variations: &[stolen("PHP 8, and a token that begins with 0", &[LOW_TOKEN, PHP8])],
        remark: None,
    },
    Race {
        id: "binary-read-as-stamp",
        title: "PHP reads eight bytes as the year 1970",
        sources: &["mixed fleets", "PHP article beside the Java article"],
        story: "Eight bytes of which the first is zero are below every number to any PHP. It takes every lock of the Java client.",
        cast: Cast { players: &[JAVA, PHP8], ..Cast::NOBODY },
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
        id: "seconds-read-as-millis",
        title: "A stamp in seconds, read as milliseconds, is in January 1970",
        sources: &["mixed fleets"],
        story: "A client that counts in milliseconds takes every lock of one that counts in seconds.",
        cast: Cast { players: &[PHP8, JEDIS], ..Cast::NOBODY },
        violates: Property::MutualExclusion,
        sketch: STEALS,
        remedies: &[ALL_PHP, ALL_JEDIS],
        variations: &[starved("the other way round, for fifty thousand years", &[JEDIS.trying(1), PHP8])],
        remark: None,
    },
    Race {
        id: "token-client-starves",
        title: "SET NX PX waits for ever for an old lock",
        sources: &["mixed fleets"],
        story: "An old client that dies leaves a key without a time to live. Old clients would take it by its stamp; SET NX PX \
                cannot.",
        cast: Cast { players: &[JEDIS.trying(1), TOKEN], bounds: A_DEATH, ..Cast::NOBODY },
        violates: Property::CanBeTakenAgain,
        sketch: STARVES,
        remedies: &[ALL_TOKENS],
        variations: &[],
        remark: None,
    },
];
