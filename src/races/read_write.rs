//! Read/write locks whose readers share one mark.

use std::time::Duration;

use super::participant::Participant;
use super::protocol::RaceProtocol;
use super::race::Race;
use super::remedy::Remedy;
use super::scenario::Scenario;
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::race_id::RaceId;

const LEASE: Duration = Duration::from_secs(3);
const PAIR_READER: Participant = Participant::new(RaceProtocol::Modern("rw-pair,side=reader"), LEASE);
const PAIR_WRITER: Participant = Participant::new(RaceProtocol::Modern("rw-pair,side=writer"), LEASE);
const HASH_READER: Participant = Participant::new(RaceProtocol::Modern("rw-stamps,side=reader"), LEASE);
const LATER_READER: Participant = Participant { skew_ms: 1_000, ..HASH_READER };
const HASH_WRITER: Participant = Participant::new(RaceProtocol::Modern("rw-stamps,side=writer"), LEASE);

const AN_ENTRY_EACH: Remedy = Remedy::each(
    &[
        RaceProtocol::Modern("read-write,side=reader"),
        RaceProtocol::Modern("read-write,side=reader"),
        RaceProtocol::Modern("read-write,side=writer"),
    ],
    "each reader has an entry of its own, named by a random token",
);

pub(super) const RACES: &[Race] = &[
    Race {
        id: RaceId::ReaderDeletesReader,
        title: "The first reader to leave takes the others' lock along",
        sources: &["read/write article, single instance"],
        story: "All readers share one key. The first one to leave deletes it, and a writer comes in beside the others.",
        scenario: Scenario {
            participants: &[PAIR_READER, PAIR_READER, PAIR_WRITER],
            bounds: Bounds::ticks(2),
            ..Scenario::EMPTY
        },
        violates: Property::ReaderExcludesWriter,
        sketch: Sketch {
            marks: &[Mark::Runs("B", "EVALSHA"), Mark::Runs("A", "DEL"), Mark::Runs("C", "EVALSHA")],
            blame: 1,
        },
        remedies: &[AN_ENTRY_EACH],
        variations: &[],
        remark: None,
    },
    Race {
        id: RaceId::LastReaderSpeaksForAll,
        title: "The last reader's release speaks for all readers",
        sources: &["read/write article, cluster"],
        story: "All readers share one field with the time of the last of them. When that one leaves, it removes the field, \
                and a writer comes in beside the others.",
        scenario: Scenario { participants: &[HASH_READER, LATER_READER, HASH_WRITER], ..Scenario::EMPTY },
        violates: Property::ReaderExcludesWriter,
        sketch: Sketch {
            marks: &[
                Mark::Runs("A", "EVALSHA"),
                Mark::Runs("B", "EVALSHA"),
                Mark::Runs("B", "EVALSHA"),
                Mark::Runs("C", "EVALSHA"),
            ],
            blame: 1,
        },
        remedies: &[AN_ENTRY_EACH],
        variations: &[],
        remark: None,
    },
    Race {
        id: RaceId::SameMillisecond,
        title: "Two clients of one millisecond are the same client",
        sources: &["read/write article, cluster"],
        story: "The time of acquisition is all that tells holders apart. Who came in the same millisecond can release each \
                other.",
        scenario: Scenario { participants: &[HASH_READER, HASH_READER], ..Scenario::EMPTY },
        violates: Property::ReleasesOnlyOwn,
        sketch: Sketch {
            marks: &[Mark::Runs("A", "EVALSHA"), Mark::Runs("B", "EVALSHA"), Mark::Runs("B", "EVALSHA")],
            blame: 2,
        },
        remedies: &[AN_ENTRY_EACH],
        variations: &[],
        remark: None,
    },
];
