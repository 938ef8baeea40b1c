//! The time to live of a key: removed, cut short, or made of the wrong number.

use super::participant::Participant;
use super::protocol::RaceProtocol;
use super::race::Race;
use super::remedy::Remedy;
use super::scenario::{Scenario, Setup};
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{php_article, python};
use crate::race_id::RaceId;

/// Works past its lease, and then leaves the key to its time to live.
const BUSY_RETOOLS: Participant = Participant::old(&python::RETOOLS_EXPIRE, 1).trying(1).working(99);
const ABSOLUTE: Participant =
    Participant { prompt: true, ..Participant::old(&python::RETOOLS_ABSOLUTE_EXPIRE, 1).trying(1).working(2) };
const BUSY_PHP: Participant = Participant::old(&php_article::PHP_GETSET, 6).working(99);
const BUSY_SHORT_PHP: Participant = Participant::old(&php_article::PHP_GETSET, 1).working(99);

pub(super) const RACES: &[Race] = &[
    Race {
        id: RaceId::LoserClearsTtl,
        title: "The loser of a takeover removes the winner's time to live",
        sources: &["dv/redis-semaphore issue 23"],
        story: "The winner of a takeover has given the key a time to live; the loser's GETSET removes it. If the winner does not \
                release, clients that rely on the time to live wait for ever.",
        scenario: Scenario {
            participants: &[BUSY_RETOOLS, BUSY_RETOOLS, Participant::token(1)],
            setup: Setup::left_behind(&python::RETOOLS_EXPIRE),
            bounds: Bounds::ticks(1).afterwards(200),
            ..Scenario::EMPTY
        },
        violates: Property::CanBeTakenAgain,
        sketch: Sketch { marks: &[Mark::Runs("A", "EXPIRE"), Mark::Runs("B", "GETSET")], blame: 1 },
        remedies: &[Remedy::TOKEN],
        variations: &[],
        remark: Some(
            "It is for ever only where some client does not read stamps, here a token client: among readers of stamps the lock is \
             free again when the loser's stamp expires.",
        ),
    },
    Race {
        id: RaceId::LateExpire,
        title: "A late EXPIRE cuts another client's lease",
        sources: Race::FOUND_BY_EXPLORATION,
        story: "A client wins by SETNX and is held up before its EXPIRE. Meanwhile its stamp expires, another client with a longer \
                lease takes the lock, and the late EXPIRE gives that one's key its own short time to live.",
        scenario: Scenario {
            participants: &[BUSY_SHORT_PHP, BUSY_PHP, BUSY_PHP],
            bounds: Bounds::ticks(5),
            ..Scenario::EMPTY
        },
        violates: Property::MutualExclusion,
        sketch: Sketch {
            marks: &[
                Mark::Runs("A", "SETNX"),
                Mark::Runs("B", "GETSET"),
                Mark::Runs("B", "EXPIRE"),
                Mark::Runs("A", "EXPIRE"),
                Mark::TimePasses,
                Mark::Runs("C", "SETNX"),
            ],
            blame: 4,
        },
        remedies: &[Remedy::TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: RaceId::AbsoluteExpire,
        title: "EXPIRE is given a moment where a length belongs",
        sources: &["actionhero/node-resque issue 287"],
        story: "A stamp of seconds since 1970 as a time to live is a time to live of decades. When the lease has expired and its \
                holder leaves the key to its time to live, clients that rely on that wait for ever.",
        scenario: Scenario {
            participants: &[ABSOLUTE, Participant::token(1)],
            bounds: Bounds::ticks(2),
            ..Scenario::EMPTY
        },
        violates: Property::NoPhantom,
        sketch: Sketch { marks: &[Mark::Runs("A", "SETNX"), Mark::Runs("A", "EXPIRE"), Mark::TimePasses], blame: 1 },
        remedies: &[
            Remedy::each(
                &[RaceProtocol::Dialect(&python::RETOOLS_EXPIRE), RaceProtocol::TOKEN],
                "EXPIRE is given the lease",
            ),
            Remedy::TOKEN,
        ],
        variations: &[],
        remark: Some(
            "node-resque sets no time to live at all after SETNX, so that its lock is lost before this EXPIRE: that is \
             `crash-before-expire`. Here it is retools, which made the same slip for four months of 2012.",
        ),
    },
];
