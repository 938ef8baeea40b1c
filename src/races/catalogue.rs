//! All races, a family after the other.

use super::race::Race;
use super::{ancestors, clocks, discovered, failover, mixed, promises, read_write, release, renewal, takeover};

const FAMILIES: &[&[Race]] = &[
    ancestors::RACES,
    takeover::RACES,
    release::RACES,
    promises::RACES,
    clocks::RACES,
    renewal::RACES,
    read_write::RACES,
    failover::RACES,
    mixed::RACES,
    discovered::RACES,
];

/// Every race.
pub fn catalogue() -> impl Iterator<Item = &'static Race> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

/// The race of this id.
pub fn find(id: &str) -> Option<&'static Race> {
    catalogue().find(|race| race.id == id)
}
