//! The schedule of a race, with something that prevents it.

use super::race::Race;
use super::remedy::Remedy;
use super::reproduction::Reproduction;
use crate::explore::Followed;

impl Race {
    /// The schedule that was found, followed by clients that use this remedy.
    pub fn under(&self, remedy: &Remedy, found: &Reproduction) -> Followed {
        let (scenario, participants) = remedy.apply(&self.scenario);
        scenario.scene_of(&participants).follow(&self.scenario.scene(), &found.actions, self.violates)
    }
}
