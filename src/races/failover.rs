//! Faults of the server itself, and locks on several servers against them.

use std::time::Duration;

use super::cast::{Cast, Guarding};
use super::player::Player;
use super::protocol::Protocol;
use super::race::{Race, Variation};
use super::remedy::Remedy;
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};

const TOKEN: Player = Player::token(2);
const FENCED_WRITER: Player = Player { protocol: Protocol::FencedToken, writes: true, ..TOKEN };
const A_MINORITY: Player = Player::new(Protocol::Quorum, Duration::from_secs(2)).trying(1);
const A_MAJORITY: Player = Player::new(Protocol::Redlock, Duration::from_secs(2));
const A_FAILOVER: Bounds = Bounds { failovers: 1, ..Bounds::ticks(1) };

pub(super) const RACES: &[Race] = &[
    Race {
        id: "failover-loses-lock",
        title: "The replica has never heard of the lock",
        sources: &["Jedis article, Redlock part"],
        story: "The master dies before it has told its replica of the lock. The replica takes its place and gives the lock again.",
        cast: Cast { players: &[TOKEN; 3], bounds: A_FAILOVER, ..Cast::NOBODY },
        violates: Property::MutualExclusion,
        sketch: Sketch { marks: &[Mark("A", "SET"), Mark("server", "fails over"), Mark("B", "SET")], blame: 1 },
        remedies: &[],
        variations: &[Variation {
            what: "on a majority of three servers, one of which forgets",
            cast: Cast { players: &[A_MAJORITY; 3], bounds: A_FAILOVER, ..Cast::NOBODY },
            violates: Property::MutualExclusion,
            sketch: Sketch {
                marks: &[Mark("A", "SET"), Mark("server", "fails over"), Mark("B", "SET"), Mark("A", "SET")],
                blame: 3,
            },
        }],
        remark: Some(
            "Redlock alone does not prevent it: who has won two of three servers loses one to a failover, and the third was \
             free. A server that has forgotten must stay away for a lease. Nor does a fence that is counted in the same Redis \
             help: see `failover-loses-fence`.",
        ),
    },
    Race {
        id: "partial-quorum-stays",
        title: "A failed try is left behind",
        sources: &["Jedis article, Redlock part"],
        story: "Each of three clients gets one of three servers. None has a majority, all give up, and nobody can lock until \
                what they have left behind runs out.",
        cast: Cast { players: &[A_MINORITY; 3], ..Cast::NOBODY },
        violates: Property::NoPhantom,
        sketch: Sketch { marks: &[Mark("A", "SET"), Mark("B", "SET"), Mark("C", "SET")], blame: 2 },
        remedies: &[Remedy::all(Protocol::Redlock, "a failed try is taken back on all servers, always")],
        variations: &[],
        remark: None,
    },
    Race {
        id: "failover-loses-fence",
        title: "The replica counts the fence again",
        sources: Race::FOUND_BY_EXPLORATION,
        story: "The counter of the fence is in the same Redis as the lock. A failover that loses the lock loses the count as well. \
                If the replica's clock is not ahead of the last count, two holders have the same number, and the resource \
                takes both.",
        cast: Cast {
            players: &[FENCED_WRITER; 2],
            bounds: A_FAILOVER,
            guard: Some(Guarding::ChecksFence),
            ..Cast::NOBODY
        },
        violates: Property::NoStaleWrite,
        sketch: Sketch {
            marks: &[
                Mark("A", "EVALSHA"),
                Mark("server", "fails over"),
                Mark("B", "EVALSHA"),
                Mark("B", "writes to the guarded resource"),
                Mark("A", "writes to the guarded resource"),
            ],
            blame: 1,
        },
        remedies: &[],
        variations: &[],
        remark: Some(
            "A fence is not below the server's clock in microseconds, so it takes a failover that is faster than the two \
             clocks are apart. A counter that survives what the lock does not is needed to rule it out.",
        ),
    },
];
