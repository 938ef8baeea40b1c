//! A key that looks like a lock, and nobody holds it.

use std::time::Duration;

use super::cast::{Cast, Start};
use super::player::Player;
use super::protocol::Protocol;
use super::race::Race;
use super::remedy::Remedy;
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Grain, Property};
use crate::legacy::catalogue::{java, java_article, node, php, php_article, python, ruby};

const MUTEX: Player = Player::old(&ruby::REDIS_MUTEX, 2).trying(1);
const NPM_2012: Player = Player::old(&node::NPM_REDIS_LOCK_2012, 2).trying(1);
const JAVA: Player = Player::old(&java_article::JAVA_GETSET, 2).trying(1);
const BUSY_YII: Player = Player::old(&php::YII_REDIS, 2).trying(1).working(99);
const BUSY_PHP: Player = Player::old(&php_article::PHP_GETSET, 2).trying(1).working(99);
const SPRING: Player = Player::old(&java::SPRING_REDIS_CALLBACK, 2).trying(1);
/// A lease of which `str` prints four digits fewer.
const PYTHON: Player =
    Player::new(Protocol::Dialect(&python::REDIS_PY_2_2), Duration::from_micros(1_004_999)).trying(1);

pub(super) const RACES: &[Race] = &[
    Race {
        id: "loser-blocks-release",
        title: "The winner cannot release what a loser has overwritten",
        sources: &["kenn/redis-mutex issue 5", "derived"],
        story: "The release deletes the key only if it still holds the own stamp. A loser's GETSET has put another one there, so \
                the lock stays after its holder has left, until the loser's stamp is over.",
        cast: Cast {
            players: &[MUTEX; 2],
            start: Start::left_behind(&ruby::REDIS_MUTEX),
            bounds: Bounds::ticks(1),
            ..Cast::NOBODY
        },
        violates: Property::NoPhantom,
        sketch: Sketch { marks: &[Mark("A", "GETSET"), Mark("B", "GETSET"), Mark("A", "GET")], blame: 1 },
        remedies: &[Remedy::WATCHED, Remedy::TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: "phantom-after-nil-get",
        title: "A lock that nobody holds, made by a GETSET after an empty GET",
        sources: &["kenn/redis-mutex issue 5", "errorception/redis-lock issue 3"],
        story: "GET finds nothing, because the lock has just been released. The client sends GETSET all the same, takes the \
                missing old value for somebody else's, and leaves its stamp in a lock that nobody holds.",
        cast: Cast { players: &[NPM_2012; 3], ..Cast::NOBODY },
        violates: Property::NoPhantom,
        sketch: Sketch {
            marks: &[Mark("B", "SETNX"), Mark("A", "DEL"), Mark("B", "GET"), Mark("B", "GETSET")],
            blame: 3,
        },
        remedies: &[
            Remedy::old(&node::NPM_REDIS_LOCK, "after an empty GET the client begins again with SETNX"),
            Remedy::TOKEN,
        ],
        variations: &[],
        remark: None,
    },
    Race {
        id: "phantom-after-release",
        title: "A lock that nobody holds, because its holder was quick",
        sources: Race::FOUND_BY_EXPLORATION,
        story: "Between a client's GET and its GETSET the lock is taken and given back. GETSET finds no old value, a client of the \
                equality verdict calls itself the loser, and its stamp stays in a lock that nobody holds.",
        cast: Cast { players: &[JAVA; 2], start: Start::left_behind(&java_article::JAVA_GETSET), ..Cast::NOBODY },
        violates: Property::NoPhantom,
        sketch: Sketch {
            marks: &[Mark("B", "GET"), Mark("A", "GETSET"), Mark("A", "DEL"), Mark("B", "GETSET")],
            blame: 3,
        },
        remedies: &[
            Remedy::old(&php_article::PHP_GETSET, "no old value counts as one that is over, and wins"),
            Remedy::WATCHED,
            Remedy::TOKEN,
        ],
        variations: &[],
        remark: Some("GET had found a value, so that the known remedy for an empty GET does not help."),
    },
    Race {
        id: "equality-loser-phantom",
        title: "A lock that nobody holds, made by a loser of the equality verdict",
        sources: &["derived"],
        story: "Between a client's GET and its GETSET the lock is taken and is over again. GETSET hands back a stamp that is over, \
                but not the one that was read: the client calls itself the loser, and leaves its stamp in a lock that nobody \
                holds.",
        cast: Cast {
            players: &[BUSY_YII; 2],
            start: Start::left_behind(&php::YII_REDIS),
            bounds: Bounds::ticks(3),
            grain: Grain::Fine,
            ..Cast::NOBODY
        },
        violates: Property::NoPhantom,
        sketch: Sketch {
            marks: &[Mark("B", "GET"), Mark("A", "GETSET"), Mark("clock", "passes"), Mark("B", "GETSET")],
            blame: 3,
        },
        remedies: &[
            Remedy::old(&ruby::REDIS_MUTEX, "the verdict asks whether the old stamp is over, and then has won"),
            Remedy::WATCHED,
            Remedy::TOKEN,
        ],
        variations: &[],
        remark: Some(
            "The other verdict closes this way only. A loser that wrote while the winner's lease was running leaves the same \
             phantom behind, whatever its verdict: see `loser-outlives-winner`.",
        ),
    },
    Race {
        id: "loser-outlives-winner",
        title: "A lock that nobody holds, because its loser's stamp is later",
        sources: Race::FOUND_BY_EXPLORATION,
        story: "A loser has moved the winner's lease to a later moment. When the winner's lease is over and the winner has not \
                released, everybody waits for the end of a lease that nobody has.",
        cast: Cast {
            players: &[BUSY_PHP; 2],
            start: Start::left_behind(&php_article::PHP_GETSET),
            bounds: Bounds::ticks(3),
            ..Cast::NOBODY
        },
        violates: Property::NoPhantom,
        sketch: Sketch { marks: &[Mark("A", "GETSET"), Mark("B", "GETSET"), Mark("clock", "passes")], blame: 1 },
        remedies: &[Remedy::WATCHED, Remedy::TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: "rounded-stamp-misses-release",
        title: "The own stamp is not recognised, because it was printed rounded",
        sources: &["redis/redis-py pull request 384"],
        story: "Python's str keeps twelve digits of a float. The stamp that comes back is below the one in memory, the release \
                takes it for an earlier owner's, and everybody sits out the lease.",
        cast: Cast { players: &[PYTHON], ..Cast::NOBODY },
        violates: Property::NoPhantom,
        sketch: Sketch { marks: &[Mark("A", "SETNX"), Mark("A", "GET")], blame: 0 },
        remedies: &[Remedy::old(&python::REDIS_PY_2_7, "repr prints every digit"), Remedy::TOKEN],
        variations: &[],
        remark: Some("It needs no second client and no bad luck: this lease is never given back."),
    },
    Race {
        id: "release-misses-key",
        title: "The release deletes another key",
        sources: Race::FOUND_BY_EXPLORATION,
        story: "The acquiring half sends the key's raw bytes, the releasing half sends them as Java writes a serialised string. \
                The DEL hits nothing, and everybody sits out the lease.",
        cast: Cast { players: &[SPRING], ..Cast::NOBODY },
        violates: Property::NoPhantom,
        sketch: Sketch { marks: &[Mark("A", "SETNX"), Mark("A", "DEL")], blame: 0 },
        remedies: &[
            Remedy::old(&java::SPRING_REDIS_CALLBACK_STRING, "a StringRedisTemplate sends the same bytes both times"),
            Remedy::TOKEN,
        ],
        variations: &[],
        remark: None,
    },
];
