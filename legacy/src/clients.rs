//! The classes of the articles that have a state of their own, as pure state machines.
//!
//! A state is a value. A method is a procedure over a transcript like any other, and ends with the state that follows;
//! the caller puts that in the place of the old one. Nothing here sleeps, reads a clock or starts a thread: where the
//! original does, the machine says so and its driver does it.

mod jedis_locks;
mod polling;
mod renewal;
mod token_object;

pub use jedis_locks::{JedisLocks, Locked, Unlocked};
pub use polling::{Polling, Step};
pub use renewal::{Renewal, Renewed};
pub use token_object::{AlreadyLocked, NotLockedYet, TokenObject};
