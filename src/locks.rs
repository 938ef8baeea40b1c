//! The entry point: one [`Locks`] for each Redis, and from it any number of locks, with the defaults of an expert.
//!
//! ```no_run
//! use std::time::Duration;
//! use lockshift::Locks;
//!
//! # fn ship(_: Option<u64>) {}
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let locks = Locks::connect("redis://127.0.0.1/")?;
//! let lock = locks.token("orders:42", Duration::from_secs(10))?;
//! // Acquires within 5 s, renews, releases; an error if the lock was lost meanwhile.
//! lock.with(Duration::from_secs(5), |held| ship(held.fence()))?;
//! # Ok(())
//! # }
//! ```
//!
//! With the feature `tokio`, `lockshift::aio` has the same names for async programs. What it adds to the layers below,
//! all of which stay public:
//!
//! | question | default |
//! |---|---|
//! | connection | [`connect`](crate::connect): opens anew between commands, never sends a command twice |
//! | timeouts | 2 s to connect; 1 s to answer, or a third of the lease if that is shorter |
//! | renewal | every third of the lease, in the background, until released; see [`Lock::held_for_at_most`] |
//! | waiting | until the release is announced, where the protocol does that; otherwise backoff with full jitter |
//! | an error that may pass by itself | another attempt, until the deadline |
//! | a lost reply | disclaimed by the protocol where it can, then another attempt, until the deadline |
//! | a lock that was lost | an error from `with`, a flag and an event on [`Held`], and an event before, with a margin |
//! | a key of another type | not acquired, and left as it is; see [`Locks::legacy`] |
//! | replicas | not waited for; see [`Locks::replicated`] |
//! | a dropped guard | released, and a failure logged |

#[cfg(feature = "tokio")]
pub mod aio;

mod blocking;
mod choose;
mod error;
mod outcome;
mod pool;
mod same_names;

pub use blocking::{Held, Lock, Locks};
pub use error::{AcquireError, ChooseError, ConnectError, ReleaseError, Timeout, WithError};
