//! The odds: how many double holds, wrong releases and starved waits to expect under each protocol, from what a trace shows.
//!
//! A [`TracedWorkload`] is what an [audit](crate::audit) says of one lock: which clients wanted it when, how long they worked,
//! how long they rested between, how wrong their clocks are. [`estimate`] plays it again and again with the shipped
//! procedures on a simulated server. Each *period* is as long as the trace; its works and rests are drawn from those of the
//! trace anew, with replacement (the bootstrap), so the periods differ by as much as another trace of that length would.

mod counts;
mod seen_lease;
mod workload;

mod client;
mod estimate;
mod period;

pub use counts::PeriodCounts;
pub use estimate::{DailyRate, OddsEffort, OddsEstimate, estimate};
pub use period::{PlayedProtocol, WaitPace};
pub use workload::{NoEstimate, RoundTrips, TracedWorkload};
