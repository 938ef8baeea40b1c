//! A race that a phase still has.

use crate::explore::{Property, Trace, Violation};
use crate::races::{self, Race};

/// A race that a phase still has: a rule that can be broken, on a shortest way.
#[derive(Clone, Debug)]
pub struct Residual {
    /// The rule.
    pub property: Property,
    /// The protocol of the client whose step breaks it; `None` where that is the clock.
    pub by: Option<String>,
    /// The documented race that it is, if its schedule fits one.
    pub race: Option<&'static Race>,
    /// The schedule.
    pub trace: Trace,
}

impl Residual {
    pub(super) fn of(violation: Violation) -> Self {
        let Violation { property, trace, .. } = violation;
        let blamed = trace.blame.and_then(|step| trace.steps.get(step)).and_then(|step| step.actor);
        let by = blamed.map(|actor| trace.actors[actor].protocol.clone());
        let race = races::catalogue().find(|race| race.violates == property && race.sketch.fits(&trace));
        Self { property, by, race, trace }
    }
}
