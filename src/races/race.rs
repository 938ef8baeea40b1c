//! One documented race.

use super::cast::Cast;
use super::protocol::names;
use super::remedy::Remedy;
use super::sketch::Sketch;
use crate::explore::Property;

/// One documented race.
#[derive(Clone, Copy, Debug)]
pub struct Race {
    /// Its stable name.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Where it is described, or that nobody has described it.
    pub sources: &'static [&'static str],
    /// What happens.
    pub story: &'static str,
    /// Who takes part.
    pub cast: Cast,
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
    /// Who takes part.
    pub cast: Cast,
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
        names(self.cast.players.iter().map(|player| player.protocol))
    }
}
