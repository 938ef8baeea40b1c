//! Clocks that differ, and lengths taken for moments.

use std::time::Duration;

use super::cast::{Cast, Start};
use super::player::Player;
use super::protocol::Protocol;
use super::race::Race;
use super::remedy::{Change, Remedy};
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{java_article as java, node, php_article as php};

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

const PHP: Protocol = Protocol::Dialect(&php::PHP_GETSET);
const JAVA: Protocol = Protocol::Dialect(&java::JAVA_GETSET);
const RESQUE: Protocol = Protocol::Dialect(&node::NODE_RESQUE_2019);

pub(super) const RACES: &[Race] = &[
    Race {
        id: "clock-skew-steal",
        title: "A clock that runs ahead takes a lock that is not over",
        sources: &["Java article", "bbangert/retools issue 18", "errorception/redis-lock issue 30"],
        story: "The end of the lease is a moment on the holder's clock. Whose clock is ahead sees it pass too early.",
        cast: Cast {
            players: &[Player::new(PHP, secs(2)).working(9), Player { skew: 3, ..Player::new(PHP, secs(2)) }.working(9)],
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
            players: &[Player::new(RESQUE, secs(2)).trying(1), Player::new(Protocol::Token, secs(2))],
            start: Start::Died { protocol: RESQUE, lease: secs(2), ticks_ago: 9, writes: 1 },
            bounds: Bounds { crashes: 1, afterwards: Some(100), ..Bounds::ticks(0) },
            ..Cast::NOBODY
        },
        violates: Property::CanBeTakenAgain,
        sketch: Sketch { marks: &[Mark("A", "SET"), Mark("A", "EXPIRE"), Mark("A", "dies")], blame: 2 },
        remedies: &[Remedy {
            changes: &[Change::Each(&[Protocol::Dialect(&node::NODE_RESQUE), Protocol::Token])],
            because: "EXPIRE is given the lease",
        }],
        variations: &[],
        remark: None,
    },
];
