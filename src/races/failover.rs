//! Faults of the server itself, and locks on several servers against them.

use std::time::Duration;

use super::participant::Participant;
use super::protocol::RaceProtocol;
use super::race::{Race, Variation};
use super::remedy::Remedy;
use super::scenario::{Guarding, Scenario};
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::race_id::RaceId;

const TOKEN: Participant = Participant::token(2);
const FENCED_WRITER: Participant =
    Participant { protocol: RaceProtocol::Modern("token-fenced"), writes: true, ..TOKEN };
const A_MINORITY: Participant = Participant::new(RaceProtocol::Quorum, Duration::from_secs(2)).trying(1);
const A_MAJORITY: Participant = Participant::new(RaceProtocol::Modern("redlock,servers=3"), Duration::from_secs(2));
const A_FAILOVER: Bounds = Bounds::ticks(1).failovers(1);

pub(super) const RACES: &[Race] = &[
    Race {
        id: RaceId::FailoverLosesLock,
        title: "The replica has never heard of the lock",
        sources: &["Jedis article, Redlock part"],
        story: "The master dies before its replica has the lock. The replica takes its place and gives the lock again.",
        scenario: Scenario { participants: &[TOKEN; 3], bounds: A_FAILOVER, ..Scenario::EMPTY },
        violates: Property::MutualExclusion,
        sketch: Sketch { marks: &[Mark::Runs("A", "SET"), Mark::FailsOver, Mark::Runs("B", "SET")], blame: 1 },
        remedies: &[],
        variations: &[Variation {
            what: "on a majority of three servers, one of which forgets",
            scenario: Scenario { participants: &[A_MAJORITY; 3], bounds: A_FAILOVER, ..Scenario::EMPTY },
            violates: Property::MutualExclusion,
            sketch: Sketch {
                marks: &[Mark::Runs("A", "SET"), Mark::Runs("B", "SET"), Mark::FailsOver, Mark::Runs("A", "SET")],
                blame: 2,
            },
        }],
        remark: Some(
            "Redlock alone does not prevent it: who has won two of three servers loses one to a failover, and the third was \
             free. A server that has forgotten must stay away for a lease. Nor does a fence that is counted in the same Redis \
             help: see `failover-loses-fence`.",
        ),
    },
    Race {
        id: RaceId::PartialQuorumStays,
        title: "A failed try is left behind",
        sources: &["Jedis article, Redlock part"],
        story: "Each of three clients gets one of three servers. None has a majority, all give up, and no client can lock until \
                what they have left behind expires.",
        scenario: Scenario { participants: &[A_MINORITY; 3], ..Scenario::EMPTY },
        violates: Property::NoPhantom,
        sketch: Sketch { marks: &[Mark::Runs("A", "SET"), Mark::Runs("B", "SET"), Mark::Runs("C", "SET")], blame: 2 },
        // A key that is set late in a round outlives the lease by the delay, and the rule grants a tick for that.
        remedies: &[Remedy {
            ticks_beyond: 1,
            ..Remedy::all(
                RaceProtocol::Modern("redlock,servers=3"),
                "a failed try is taken back on all servers, always",
            )
        }],
        variations: &[],
        remark: None,
    },
    Race {
        id: RaceId::FailoverLosesFence,
        title: "The replica counts the fence again",
        sources: Race::FOUND_BY_EXPLORATION,
        story: "The counter of the fence is in the same Redis as the lock. A failover that loses the lock loses the count as well. \
                If the replica's clock is not ahead of the last count, two holders have the same number, and the resource \
                takes both.",
        scenario: Scenario {
            participants: &[FENCED_WRITER; 2],
            bounds: A_FAILOVER,
            guard: Some(Guarding::ChecksFence),
            ..Scenario::EMPTY
        },
        violates: Property::NoStaleWrite,
        sketch: Sketch {
            marks: &[
                Mark::Runs("A", "EVALSHA"),
                Mark::FailsOver,
                Mark::Runs("B", "EVALSHA"),
                Mark::Writes("B"),
                Mark::Writes("A"),
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
