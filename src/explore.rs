//! Every interleaving of some clients on one simulated server: what can go wrong, on the shortest way, or that nothing
//! can, within stated bounds.
//!
//! A [`Scene`] says who takes part and how much may go wrong. A [`World`] is one state of it; [`Search`] goes through all
//! of them, breadth first. It runs the protocols and the server that ship, once per distinct question, and knows none of
//! them: what a client believes comes from the words of [`lock`](crate::lock) alone.

mod client;
mod names;
mod scene;

mod actor;
mod deed;
mod node;
mod world;

mod conduct;
mod parts;
mod rules;
mod whole;

mod eternity;
mod intern;
mod memo;
mod met;
mod visited;

mod doer;
mod harm;
mod judge;
mod places;
mod property;
mod rewriting;
mod stamps;
mod symmetry;

mod expand;
mod forever;
mod route;
mod run;
mod search;

mod blame;
mod follow;
mod narrate;
mod scribe;
mod trace;

pub use actor::{Actor, Doing, Talk, Work};
pub use client::{Client, Times};
pub use deed::{Deed, What};
pub use eternity::NotForAllTime;
pub use follow::Followed;
pub use node::{Guard, Node};
pub use property::{Properties, Property};
pub use scene::{Bounds, Grain, Scene};
pub use search::{End, Findings, Progress, Search, Stop, Violation};
pub use trace::{Belief, Content, Exchange, Mismatch, Opening, Role, Shot, Step, Trace};
pub use world::{Action, Left, World};
