//! Clocks that differ, and lengths taken for moments.

use std::time::Duration;

use super::cast::Cast;
use super::player::Player;
use super::protocol::Protocol;
use super::race::Race;
use super::remedy::{Change, Remedy};
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{java_article as java, php_article as php, python};

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

const PHP: Protocol = Protocol::Dialect(&php::PHP_GETSET);
const JAVA: Protocol = Protocol::Dialect(&java::JAVA_GETSET);
const ABSOLUTE: Protocol = Protocol::Dialect(&python::RETOOLS_ABSOLUTE_EXPIRE);

pub(super) const RACES: &[Race] = &[
    Race {
        id: "clock-skew-steal",
        title: "A clock that runs ahead takes a lock that is not over",
        sources: &["Java article", "bbangert/retools issue 18", "errorception/redis-lock issue 30"],
        story: "The end of the lease is a moment on the holder's clock. Whose clock is ahead sees it pass too early.",
        cast: Cast {
            players: &[
                Player::new(PHP, secs(2)).working(9),
                Player { skew: 3, ..Player::new(PHP, secs(2)) }.working(9),
            ],
            bounds: Bounds::ticks(1),
            ..Cast::NOBODY
        },
        violates: Property::MutualExclusion,
        sketch: Sketch { marks: &[Mark("A", "SETNX"), Mark("B", "GET"), Mark("B", "GETSET")], blame: 2 },
        remedies: &[
            Remedy {
                changes: &[Change::All(JAVA), Change::Skew(1)],
                because: "the stamp is a second later than the lease, and the clocks are no more than that apart",
            },
            Remedy { changes: &[Change::All(Protocol::Token)], because: "only Redis' own clock ends the lease" },
        ],
        variations: &[],
        remark: None,
    },
    Race {
        id: "absolute-expire",
        title: "EXPIRE is given a moment where a length belongs",
        sources: &["actionhero/node-resque issue 287"],
        story: "A stamp of seconds since 1970 as a time to live is a time to live of decades. Whoever relies on it waits for \
                ever.",
        cast: Cast {
            players: &[
                Player { prompt: true, ..Player::new(ABSOLUTE, secs(1)).trying(1).working(2) },
                Player::new(Protocol::Token, secs(1)),
            ],
            bounds: Bounds::ticks(2),
            ..Cast::NOBODY
        },
        violates: Property::NoPhantom,
        sketch: Sketch { marks: &[Mark("A", "SETNX"), Mark("A", "EXPIRE"), Mark("clock", "passes")], blame: 1 },
        remedies: &[
            Remedy {
                changes: &[Change::Each(&[Protocol::Dialect(&python::RETOOLS_EXPIRE), Protocol::Token])],
                because: "EXPIRE is given the lease",
            },
            Remedy { changes: &[Change::All(Protocol::Token)], because: "PX is given the lease" },
        ],
        variations: &[],
        remark: None,
    },
];
