//! The documented races of Redis locks, as data: who takes part, what may go wrong, which rule is broken, and who keeps
//! it. No schedule is written down: each is found by the explorer, and each remedy is explored to its end within the same
//! bounds.
//!
//! It knows protocols and the explorer; it does not know how a race is printed, nor what time it is.

mod flawed;
mod player;
mod protocol;
mod quorum;
mod rehearsal;

mod cast;
mod race;
mod remedy;
mod sketch;

mod account;
mod check;
mod follow;
mod reproduce;

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

pub use account::Account;
pub use cast::{Cast, Guarding, Start};
pub use catalogue::{catalogue, find};
pub use check::Checked;
pub use player::Player;
pub use protocol::Protocol;
pub use race::{Race, Variation};
pub(crate) use rehearsal::{commands_of_a_try, scripts};
pub use remedy::{Remedy, Speaks};
pub use reproduce::Found;
pub use sketch::{Mark, Sketch};
