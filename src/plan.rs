//! The way of a fleet from its old locks to a new one, phase by phase, and what can still go wrong in each: every
//! interleaving of a few clients of every kind that a phase has, explored to the end.
//!
//! A *phase* is defined by the protocols that take part. In the first there are the old clients alone. Then bridges come among them, until
//! there are bridges only. From then on no client needs the old key: clients that speak the new protocol alone come among the
//! bridges, on the [`new_key`](crate::bridge::new_key), until they are alone. Old clients and clients that only speak the
//! new protocol are never in one phase.
//!
//! Guards are the other way: the old clients stay as they are, first behind guards that observe, then behind guards in
//! bridge mode, which hold the new key as bridges do.

mod effort;
mod no_plan;
mod old_key;
mod phase;
mod phase_result;
mod residual;
mod rule;
mod scenes;

pub use effort::{Effort, PhaseBounds, PhaseVerdict};
pub use no_plan::NoPlan;
pub use old_key::{EXAMPLE_BEGINS, EXAMPLE_LEASE};
pub use phase::{Phase, Way};
pub use phase_result::{PhaseResult, Plan, plan};
pub use residual::Residual;
pub use rule::RULES;
