//! The entry point: one [`Locks`] for each Redis, and from it any number of locks, with the defaults of an expert.
//!
//! ```no_run
//! use std::time::Duration;
//! use lockshift::Locks;
//!
//! # fn ship(_: Option<u64>) {}
//! # fn report() {}
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let locks = Locks::connect("redis://127.0.0.1/")?;
//! let lock = locks.token("report", Duration::from_secs(10))?;
//! // Acquires within 5 s, renews, releases; an error if the lock was lost meanwhile.
//! lock.with(Duration::from_secs(5), |_| report())?;
//!
//! // The same with a fence: a number that the warehouse compares, so that it refuses a holder that comes too late.
//! let lock = locks.protocol("token-fenced", "orders:42", Duration::from_secs(10))?;
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
//! | connection | [`connect`](crate::connect): opens anew between commands, and never sends a command twice by itself |
//! | a connection that breaks during a release | the release is sent once more, where it cannot hit another's lock: see [`Locker::release_is_repeatable`](crate::lock::Locker::release_is_repeatable) |
//! | timeouts | 2 s to connect; 1 s to answer, or if that is shorter a third of the lease, rounded down to 512 ms, 256 ms and so on; see [below](#how-long-a-call-takes) |
//! | renewal | every third of the lease, in the background, until released; see [`Lock::held_for_at_most`] |
//! | waiting | until the release is announced, where the protocol does that, with a look every few seconds; otherwise backoff with full jitter |
//! | an error that may pass by itself | another attempt, until the deadline |
//! | a lost reply | disclaimed by the protocol where it can, then another attempt, until the deadline |
//! | a lock that was lost | an error from `with`, a flag and an event on [`Held`], and an event before, with a margin |
//! | a key of another type | not acquired, and left as it is; see [`Locks::legacy`] |
//! | replicas | not waited for; see [`Locks::replicated`] |
//! | a dropped guard | released, and a failure logged; in `aio` by a task, if the runtime runs that long: see `aio::Held` |
//!
//! # How long a call takes
//!
//! Timeouts are those of one reply and of one connection, and a call may wait for several of them: for the reply, for that to a
//! PING after it, for a new connection, and until an attempt is taken back whose reply was lost. So while a server hung, an
//! attempt took 4 s, and a release, also that of a dropped guard, 3 s, with threads and with tasks. A limit of the wait does not
//! cut off an attempt that is under way: `acquire_within` of 100 ms took 4 s then, too. With threads a timeout bounds each
//! reading of a socket: a peer that sends its reply byte by byte is waited for longer.
//!
//! # Names of keys
//!
//! Some locks need more keys than their own, whose names begin with that of the lock in braces: `{orders}:token` of a bridge on
//! `orders`, `{orders}:readers`, `{orders}:fence`. A key that is all in braces has the same ones. So of `orders` and `{orders}`, and
//! the like, use only one: bridges and read/write locks on one of the two wait for those on the other.
//!
//! # Processes that fork
//!
//! A child has copies of its parent's sockets and none of its threads: what it sends mixes with what its parent sends, and
//! nothing renews a lock in it. So a forked child uses neither a [`Locks`] nor a [`Held`] of its parent, and drops none. It
//! calls exec at once, or forgets them (`std::mem::forget`) and connects [`Locks`] of its own.

#[cfg(feature = "tokio")]
pub mod aio;

mod attempters;
mod blocking;
mod choose;
mod error;
mod outcome;
mod pool;
mod same_names;

pub use blocking::{Held, Lock, Locks};
pub use error::{AcquireError, ChooseError, ConnectError, ExtendError, ReleaseError, Timeout, WithError};
