//! One result as text for people and as JSON for programs. The field names are a contract; the tests of each file hold
//! them.
//!
//! Text comes with colours: the caller that prints it removes them where they cannot be shown.

mod audit;
mod comparison;
mod doctor;
mod dry_run;
mod explanation;
mod exploration;
mod fold;
#[cfg(feature = "guard")]
mod guard;
mod inspection;
mod matrix;
mod moment;
mod odds;
mod permissions;
mod plan;
mod promela;
mod protocols;
mod races;
mod run;
mod scanned;
mod step_text;
mod table;
mod timeline;
mod watch;

use serde::Serialize;

pub use audit::AuditReport;
pub use comparison::{Compared, ComparisonReport};
pub use doctor::Doctor;
pub use dry_run::DryRun;
pub use explanation::explanation;
pub use exploration::{Asked, Exploration};
pub use fold::folded;
#[cfg(feature = "guard")]
pub use guard::GuardStatistics;
pub use inspection::Inspection;
pub use matrix::Matrix;
pub use odds::{LockOdds, Odds};
pub use permissions::Granted;
pub use plan::{Language, Planned};
pub(crate) use promela::promela;
pub use protocols::{Listed, Protocols};
pub use races::{RaceDetail, Races, Replayed, mermaid, race_page, races_index};
pub use run::{Ran, Released, whole_millis};
pub use scanned::ScanReport;
pub use watch::{LiveView, WatchEvent};

/// A result that can be shown.
pub trait Report: Serialize {
    /// For people: lines of at most `width` columns where that is possible, of any length without it.
    fn text(&self, width: Option<u16>) -> String;
}
