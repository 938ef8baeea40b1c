//! Faults of the server itself.

use std::time::Duration;

use super::cast::Cast;
use super::player::Player;
use super::protocol::Protocol;
use super::race::Race;
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};

const TOKEN: Player = Player::new(Protocol::Token, Duration::from_secs(2));

pub(super) const RACES: &[Race] = &[Race {
    id: "failover-loses-lock",
    title: "The replica has never heard of the lock",
    sources: &["Jedis article, Redlock part"],
    story: "The master dies before it has told its replica of the lock. The replica takes its place and gives the lock again.",
    cast: Cast { players: &[TOKEN; 2], bounds: Bounds { failovers: 1, ..Bounds::ticks(0) }, ..Cast::NOBODY },
    violates: Property::MutualExclusion,
    sketch: Sketch { marks: &[Mark("A", "SET"), Mark("server", "fails over"), Mark("B", "SET")], blame: 1 },
    remedies: &[],
    variations: &[],
    remark: None,
}];
