//! Every interleaving of some clients on one simulated server: what can go wrong, on a shortest schedule, or that nothing
//! can, within stated bounds.
//!
//! A [`Scene`] states the clients and how much may go wrong. A [`World`] is one state of it; [`Search`] goes through all
//! of them, breadth first. It runs the protocols and the server that ship, once per distinct question, and knows no
//! protocol: what a client believes comes from the types of [`lock`](crate::lock) alone. What it finds is a [`Trace`], a
//! value; the words for it are made in `report`.

mod client;
mod faults;
mod names;
mod scene;
mod timeline;

mod actor;
#[cfg(feature = "cli")]
mod automata;
mod outcome;
mod server_side;
mod world;

mod client_step;
mod direct;
mod parts;
mod rules;

mod found;
mod hashed;
mod intern;
mod memo;
mod unbounded;
mod visited;

mod forgetting;
mod granularity;
mod token_classes;

mod blame;
mod judge;
mod places;
mod property;
mod rewriting;
mod stamps;
mod symmetry;

mod expand;
mod liveness;
mod reduction;
mod route;
mod run;
mod search;
mod starvation;

mod follow;
mod narrate;
mod recorder;
mod trace;

pub use actor::{Actor, Doing, Operation, Work};
#[cfg(feature = "cli")]
pub(crate) use automata::Automata;
pub use blame::{Cause, CauseKind};
pub use client::{Client, Times};
pub use faults::FaultBudget;
pub use follow::Followed;
pub use outcome::{Event, OperationKind, Outcome};
#[cfg(feature = "cli")]
pub(crate) use parts::{Input, Next, Request};
pub use property::{Properties, Property};
pub use scene::{Bounds, Grain, Scene};
pub use search::{End, Findings, Progress, Search, Stop, Violation};
pub use server_side::{GuardedResource, ServerSide};
pub(crate) use token_classes::Encounters;
#[cfg(feature = "cli")]
pub(crate) use trace::json;
pub use trace::{Belief, Content, Cycle, Exchange, Mismatch, PriorCommand, Role, Snapshot, Step, Trace};
pub use unbounded::NotForAllTime;
pub use world::{Action, Clock, World};
