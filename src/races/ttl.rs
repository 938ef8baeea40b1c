//! The time to live of a key: removed, cut short, or made of the wrong number.

use super::cast::{Cast, Start};
use super::player::Player;
use super::protocol::Protocol;
use super::race::Race;
use super::remedy::Remedy;
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{php_article, python};

/// Works past its lease, and then leaves the key to its time to live.
const BUSY_RETOOLS: Player = Player::old(&python::RETOOLS_EXPIRE, 1).trying(1).working(99);
const ABSOLUTE: Player =
    Player { prompt: true, ..Player::old(&python::RETOOLS_ABSOLUTE_EXPIRE, 1).trying(1).working(2) };
const BUSY_PHP: Player = Player::old(&php_article::PHP_GETSET, 6).working(99);
const BUSY_SHORT_PHP: Player = Player::old(&php_article::PHP_GETSET, 1).working(99);

pub(super) const RACES: &[Race] = &[
    Race {
        id: "loser-clears-ttl",
        title: "The loser of a takeover removes the winner's time to live",
        sources: &["dv/redis-semaphore issue 23"],
        story: "The winner of a takeover has given the key a time to live; the loser's GETSET removes it. If the winner does not \
                release, whoever relies on the time to live waits for ever.",
        cast: Cast {
            players: &[BUSY_RETOOLS, BUSY_RETOOLS, Player::token(1)],
            start: Start::left_behind(&python::RETOOLS_EXPIRE),
            bounds: Bounds { afterwards: Some(200), ..Bounds::ticks(1) },
            ..Cast::NOBODY
        },
        violates: Property::CanBeTakenAgain,
        sketch: Sketch { marks: &[Mark("A", "EXPIRE"), Mark("B", "GETSET")], blame: 1 },
        remedies: &[Remedy::TOKEN],
        variations: &[],
        remark: Some(
            "For ever it is only where somebody does not read stamps, here a token client: among readers of stamps the lock is \
             free again when the loser's stamp is over.",
        ),
    },
    Race {
        id: "late-expire",
        title: "A late EXPIRE cuts somebody else's lease",
        sources: Race::FOUND_BY_EXPLORATION,
        story: "A client wins by SETNX and is held up before its EXPIRE. Meanwhile its stamp is over, another client with a longer \
                lease takes the lock, and the late EXPIRE gives that one's key its own short time to live.",
        cast: Cast { players: &[BUSY_SHORT_PHP, BUSY_PHP, BUSY_PHP], bounds: Bounds::ticks(5), ..Cast::NOBODY },
        violates: Property::MutualExclusion,
        sketch: Sketch {
            marks: &[
                Mark("A", "SETNX"),
                Mark("B", "GETSET"),
                Mark("B", "EXPIRE"),
                Mark("A", "EXPIRE"),
                Mark("clock", "passes"),
                Mark("C", "SETNX"),
            ],
            blame: 4,
        },
        remedies: &[Remedy::TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: "absolute-expire",
        title: "EXPIRE is given a moment where a length belongs",
        sources: &["actionhero/node-resque issue 287"],
        story: "A stamp of seconds since 1970 as a time to live is a time to live of decades. When the lease is over and its \
                holder leaves the key to its time to live, whoever relies on that waits for ever.",
        cast: Cast { players: &[ABSOLUTE, Player::token(1)], bounds: Bounds::ticks(2), ..Cast::NOBODY },
        violates: Property::NoPhantom,
        sketch: Sketch { marks: &[Mark("A", "SETNX"), Mark("A", "EXPIRE"), Mark("clock", "passes")], blame: 1 },
        remedies: &[
            Remedy::each(&[Protocol::Dialect(&python::RETOOLS_EXPIRE), Protocol::Token], "EXPIRE is given the lease"),
            Remedy::TOKEN,
        ],
        variations: &[],
        remark: Some(
            "node-resque sets no time to live at all after SETNX, so that its lock is lost before this EXPIRE: that is \
             `crash-before-expire`. Here it is retools, which made the same slip for four months of 2012.",
        ),
    },
];
