//! The dry run: what would have happened to the clients of a trace under another protocol and another lease.
//!
//! The [audit](crate::audit) of a trace says which client wanted a lock when and how long the work took: that is the [`Demand`].
//! [`play`] lets the same clients want the same at the same moments, with the shipped procedures on a simulated server,
//! and counts what the trace itself is counted by: a [`DemandOutcome`] each. [`LeaseAdvice`] is the lease that the work asks for.
//!
//! The play knows one clock for all, a server that never fails and a fixed round trip; waiters back off as the
//! drivers do, from a fixed random seed, so that it always comes out the same. No client renews.

mod advice;
mod client;
mod demand;
mod outcome;
mod play;

pub use advice::LeaseAdvice;
pub use demand::{Cut, Demand};
pub use outcome::DemandOutcome;
pub use play::{Terms, play};
