//! All races, a family after the other.

use super::race::Race;
use super::{ancestors, failover, leases, mixed, phantoms, promises, read_write, release, takeover, ttl, verdicts};
use crate::race_id::RaceId;

const FAMILIES: &[&[Race]] = &[
    ancestors::RACES,
    verdicts::RACES,
    takeover::RACES,
    phantoms::RACES,
    ttl::RACES,
    release::RACES,
    leases::RACES,
    promises::RACES,
    read_write::RACES,
    failover::RACES,
    mixed::RACES,
];

/// Every race.
pub fn catalogue() -> impl Iterator<Item = &'static Race> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

/// The race of this id.
pub fn find(id: &str) -> Option<&'static Race> {
    let id = RaceId::find(id)?;
    catalogue().find(|race| race.id == id)
}
