//! A key that looks like a lock, and no client holds it.

use std::time::Duration;

use super::participant::Participant;
use super::protocol::RaceProtocol;
use super::race::Race;
use super::remedy::Remedy;
use super::scenario::{Scenario, Setup};
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Grain, Property};
use crate::legacy::catalogue::{java, java_article, node, php, php_article, python, ruby};
use crate::race_id::RaceId;

const MUTEX: Participant = Participant::old(&ruby::REDIS_MUTEX, 2).trying(1);
const NPM_2012: Participant = Participant::old(&node::NPM_REDIS_LOCK_2012, 2).trying(1);
const JAVA: Participant = Participant::old(&java_article::JAVA_GETSET, 2).trying(1);
const BUSY_YII: Participant = Participant::old(&php::YII_REDIS, 2).trying(1).working(99);
const BUSY_PHP: Participant = Participant::old(&php_article::PHP_GETSET, 2).trying(1).working(99);
const SPRING: Participant = Participant::old(&java::SPRING_REDIS_CALLBACK, 2).trying(1);
/// A lease of which `str` prints four digits fewer.
const PYTHON: Participant =
    Participant::new(RaceProtocol::Dialect(&python::REDIS_PY_2_2), Duration::from_micros(1_004_999)).trying(1);

pub(super) const RACES: &[Race] = &[
    Race {
        id: RaceId::LoserBlocksRelease,
        title: "The winner cannot release what a loser has overwritten",
        sources: &["kenn/redis-mutex issue 5", "derived"],
        story: "The release deletes the key only if it still holds the own stamp. A loser's GETSET has put another one there, so \
                the lock stays after its holder has left, until the loser's stamp expires.",
        scenario: Scenario {
            participants: &[MUTEX; 2],
            setup: Setup::left_behind(&ruby::REDIS_MUTEX),
            bounds: Bounds::ticks(1),
            ..Scenario::EMPTY
        },
        violates: Property::NoPhantom,
        sketch: Sketch {
            marks: &[Mark::Runs("A", "GETSET"), Mark::Runs("B", "GETSET"), Mark::Runs("A", "GET")],
            blame: 1,
        },
        remedies: &[Remedy::WATCHED, Remedy::TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: RaceId::PhantomAfterNilGet,
        title: "A lock that no client holds, made by a GETSET after an empty GET",
        sources: &["kenn/redis-mutex issue 5", "errorception/redis-lock issue 3"],
        story: "GET finds nothing, because the lock has just been released. The client sends GETSET all the same, takes the \
                missing old value for another client's, and leaves its stamp in a lock that no client holds.",
        scenario: Scenario { participants: &[NPM_2012; 3], ..Scenario::EMPTY },
        violates: Property::NoPhantom,
        sketch: Sketch {
            marks: &[
                Mark::Runs("B", "SETNX"),
                Mark::Runs("A", "DEL"),
                Mark::Runs("B", "GET"),
                Mark::Runs("B", "GETSET"),
            ],
            blame: 3,
        },
        remedies: &[Remedy::TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: RaceId::PhantomAfterRelease,
        title: "A lock that no client holds, because its holder was quick",
        sources: Race::FOUND_BY_EXPLORATION,
        story: "Between a client's GET and its GETSET the lock is acquired and released. GETSET finds no old value, a client of the \
                equality verdict calls itself the loser, and its stamp stays in a lock that no client holds.",
        scenario: Scenario {
            participants: &[JAVA; 2],
            setup: Setup::left_behind(&java_article::JAVA_GETSET),
            ..Scenario::EMPTY
        },
        violates: Property::NoPhantom,
        sketch: Sketch {
            marks: &[
                Mark::Runs("B", "GET"),
                Mark::Runs("A", "GETSET"),
                Mark::Runs("A", "DEL"),
                Mark::Runs("B", "GETSET"),
            ],
            blame: 3,
        },
        remedies: &[Remedy::WATCHED, Remedy::TOKEN],
        variations: &[],
        remark: Some("GET had found a value, so that the known remedy for an empty GET does not help."),
    },
    Race {
        id: RaceId::EqualityLoserPhantom,
        title: "A lock that no client holds, made by a loser of the equality verdict",
        sources: &["derived"],
        story: "Between a client's GET and its GETSET the lock is acquired and expires again. GETSET returns an expired stamp, \
                but not the one that was read: the client calls itself the loser, and leaves its stamp in a lock that no client \
                holds.",
        scenario: Scenario {
            participants: &[BUSY_YII; 2],
            setup: Setup::left_behind(&php::YII_REDIS),
            bounds: Bounds::ticks(3),
            grain: Grain::Fine,
            ..Scenario::EMPTY
        },
        violates: Property::NoPhantom,
        sketch: Sketch {
            marks: &[Mark::Runs("B", "GET"), Mark::Runs("A", "GETSET"), Mark::TimePasses, Mark::Runs("B", "GETSET")],
            blame: 3,
        },
        remedies: &[
            Remedy::old(&ruby::REDIS_MUTEX, "the verdict asks whether the old stamp has expired, and then has won"),
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
        id: RaceId::LoserOutlivesWinner,
        title: "A lock that no client holds, because its loser's stamp is later",
        sources: Race::FOUND_BY_EXPLORATION,
        story: "A loser has moved the winner's lease to a later moment. When the winner's lease has expired and the winner has not \
                released, every client waits for the end of a lease that no client has.",
        scenario: Scenario {
            participants: &[BUSY_PHP; 2],
            setup: Setup::left_behind(&php_article::PHP_GETSET),
            bounds: Bounds::ticks(3),
            ..Scenario::EMPTY
        },
        violates: Property::NoPhantom,
        sketch: Sketch { marks: &[Mark::Runs("A", "GETSET"), Mark::Runs("B", "GETSET"), Mark::TimePasses], blame: 1 },
        remedies: &[Remedy::WATCHED, Remedy::TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: RaceId::RoundedStampMissesRelease,
        title: "The own stamp is not recognised, because it was printed rounded",
        sources: &["redis/redis-py pull request 384"],
        story: "Python's str keeps twelve digits of a float. The stamp that comes back is below the one in memory, the release \
                takes it for an earlier owner's, and every client waits for the end of the lease.",
        scenario: Scenario { participants: &[PYTHON], ..Scenario::EMPTY },
        violates: Property::NoPhantom,
        sketch: Sketch { marks: &[Mark::Runs("A", "SETNX"), Mark::Runs("A", "GET")], blame: 0 },
        remedies: &[Remedy::old(&python::REDIS_PY_2_7, "repr prints every digit"), Remedy::TOKEN],
        variations: &[],
        remark: Some("It needs no second client and no bad luck: this lease is never released."),
    },
    Race {
        id: RaceId::ReleaseMissesKey,
        title: "The release deletes another key",
        sources: Race::FOUND_BY_EXPLORATION,
        story: "The acquiring half sends the key's raw bytes, the releasing half sends them as Java writes a serialised string. \
                The DEL hits nothing, and every client waits for the end of the lease.",
        scenario: Scenario { participants: &[SPRING], ..Scenario::EMPTY },
        violates: Property::NoPhantom,
        sketch: Sketch { marks: &[Mark::Runs("A", "SETNX"), Mark::Runs("A", "DEL")], blame: 0 },
        remedies: &[
            Remedy::old(&java::SPRING_REDIS_CALLBACK_STRING, "a StringRedisTemplate sends the same bytes both times"),
            Remedy::TOKEN,
        ],
        variations: &[],
        remark: None,
    },
];
