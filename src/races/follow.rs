//! The schedule of a race, with something that prevents it.

use super::race::Race;
use super::remedy::Remedy;
use super::reproduce::Found;
use crate::explore::Followed;

impl Race {
    /// The schedule that was found, gone along with by clients who use this remedy.
    pub fn under(&self, remedy: &Remedy, found: &Found) -> Followed {
        let (cast, players) = remedy.apply(&self.cast);
        cast.scene_of(&players).follow(&self.cast.scene(), &found.actions, self.violates)
    }
}
