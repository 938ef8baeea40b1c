//! Read/write locks whose readers share one mark.

use std::time::Duration;

use super::cast::Cast;
use super::player::Player;
use super::protocol::Protocol;
use super::race::Race;
use super::remedy::Remedy;
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::lock::Mode::{Exclusive, Shared};

const LEASE: Duration = Duration::from_secs(3);
const PAIR_READER: Player = Player::new(Protocol::Pair(Shared), LEASE);
const PAIR_WRITER: Player = Player::new(Protocol::Pair(Exclusive), LEASE);
const HASH_READER: Player = Player::new(Protocol::StampHash(Shared), LEASE);
const LATER_READER: Player = Player { skew: 1, ..HASH_READER };
const HASH_WRITER: Player = Player::new(Protocol::StampHash(Exclusive), LEASE);

const AN_ENTRY_EACH: Remedy = Remedy::each(
    &[Protocol::ReadWrite(Shared), Protocol::ReadWrite(Shared), Protocol::ReadWrite(Exclusive)],
    "each reader has an entry of its own, named by a random token",
);

pub(super) const RACES: &[Race] = &[
    Race {
        id: "reader-deletes-reader",
        title: "The first reader to leave takes the others' lock along",
        sources: &["read/write article, single instance"],
        story: "All readers share one key. The first one to leave deletes it, and a writer comes in beside the others.",
        cast: Cast { players: &[PAIR_READER, PAIR_READER, PAIR_WRITER], bounds: Bounds::ticks(2), ..Cast::NOBODY },
        violates: Property::ReaderExcludesWriter,
        sketch: Sketch { marks: &[Mark("B", "EVALSHA"), Mark("A", "DEL"), Mark("C", "EVALSHA")], blame: 1 },
        remedies: &[AN_ENTRY_EACH],
        variations: &[],
        remark: None,
    },
    Race {
        id: "last-reader-speaks-for-all",
        title: "The last reader's release speaks for all readers",
        sources: &["read/write article, cluster"],
        story: "All readers share one field with the time of the last of them. When that one leaves, it removes the field, \
                and a writer comes in beside the others.",
        cast: Cast { players: &[HASH_READER, LATER_READER, HASH_WRITER], ..Cast::NOBODY },
        violates: Property::ReaderExcludesWriter,
        sketch: Sketch {
            marks: &[Mark("A", "EVALSHA"), Mark("B", "EVALSHA"), Mark("B", "EVALSHA"), Mark("C", "EVALSHA")],
            blame: 1,
        },
        remedies: &[AN_ENTRY_EACH],
        variations: &[],
        remark: None,
    },
    Race {
        id: "same-millisecond",
        title: "Two clients of one millisecond are the same client",
        sources: &["read/write article, cluster"],
        story: "The time of acquisition is all that tells holders apart. Who came in the same millisecond can release each \
                other.",
        cast: Cast { players: &[HASH_READER, HASH_READER], ..Cast::NOBODY },
        violates: Property::ReleasesOnlyOwn,
        sketch: Sketch { marks: &[Mark("A", "EVALSHA"), Mark("B", "EVALSHA"), Mark("B", "EVALSHA")], blame: 2 },
        remedies: &[AN_ENTRY_EACH],
        variations: &[],
        remark: None,
    },
];
