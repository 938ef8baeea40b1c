//! One documented race.

use super::protocol::names;
use super::remedy::Remedy;
use super::scenario::Scenario;
use super::sketch::Sketch;
use crate::explore::Property;
use crate::race_id::RaceId;

/// One documented race.
#[derive(Clone, Copy, Debug)]
pub struct Race {
    /// Its id.
    pub id: RaceId,
    /// Its title.
    pub title: &'static str,
    /// Where it is described.
    pub sources: &'static [&'static str],
    /// What happens.
    pub story: &'static str,
    /// The participants, the start and the bounds.
    pub scenario: Scenario,
    /// The rule that is broken.
    pub violates: Property,
    /// What the finding must look like.
    pub sketch: Sketch,
    /// What prevents it.
    pub remedies: &'static [Remedy],
    /// The same in other circumstances.
    pub variations: &'static [Variation],
    /// What exploring it has taught that its sources do not say, or say otherwise.
    pub remark: Option<&'static str>,
}

/// The same race in other circumstances.
#[derive(Clone, Copy, Debug)]
pub struct Variation {
    /// What is different.
    pub what: &'static str,
    /// The participants, the start and the bounds.
    pub scenario: Scenario,
    /// The rule that is broken.
    pub violates: Property,
    /// What the finding must look like.
    pub sketch: Sketch,
}

impl Race {
    /// The source of those that no article and no report mentions.
    pub const FOUND_BY_EXPLORATION: &'static [&'static str] = &["found by exploration"];

    /// The protocols that take part, each once.
    pub fn protocol(&self) -> String {
        names(self.scenario.participants.iter().map(|participant| participant.protocol))
    }
}
