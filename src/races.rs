//! The documented races of Redis locks, as data: the participants, what may go wrong, which rule is broken, and what
//! prevents that. No schedule is written down: each is found by the explorer, and each remedy is explored to its end within the same
//! bounds.
//!
//! It knows protocols and the explorer; it does not know how a race is printed, nor what time it is.

mod flawed;
mod participant;
mod protocol;
mod quorum;

mod race;
mod remedy;
mod scenario;
mod sketch;

mod behind_guard;
mod check;
mod follow;
mod race_result;
mod reproduction;

mod ancestors;
mod failover;
mod leases;
mod mixed;
mod phantoms;
mod promises;
mod read_write;
mod release;
mod takeover;
mod ttl;
mod verdicts;

mod catalogue;

pub use behind_guard::{BehindGuard, GuardVerdict};
pub use catalogue::{catalogue, find};
pub use check::Checked;
pub use participant::Participant;
pub use protocol::RaceProtocol;
pub use race::{Race, Variation};
pub use race_result::RaceResult;
pub use remedy::{Remedy, Speaks};
pub use reproduction::Reproduction;
pub use scenario::{Guarding, Scenario, Setup};
pub use sketch::{Mark, Sketch};
