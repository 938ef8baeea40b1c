//! Runs lock protocols on a real Redis: [`blocking`] and, with the feature `tokio`, `aio` for async programs.
//!
//! A protocol comes in as a [`Locker`](crate::lock::Locker) and is never known by name here. On top of it this room puts
//! the policies: how to wait ([`Wait`]), how to renew ([`Renewal`]), how a holder learns that its lock is lost
//! ([`Loss`]). *Held*, *lost* and *unknown* are values ([`Attempt`], [`Answer`]); an [`Error`] means that the server
//! cannot be used, and says what to do.
//!
//! ```no_run
//! use std::time::Duration;
//! use lockshift::driver::{Attempt, Renewal, Wait, blocking};
//! use lockshift::lock::Lease;
//! use lockshift::modern::TokenLock;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let connection = redis::Client::open("redis://127.0.0.1/")?.get_connection()?;
//! let locker = TokenLock::new("invoices".into(), Lease::new(Duration::from_secs(30))?);
//! let lock = blocking::Lock::new(connection, locker);
//!
//! match lock.acquire(&Wait::backoff().for_at_most(Duration::from_secs(10)))? {
//!     Attempt::Won(mut guard) => {
//!         guard.renew(Renewal::every_third())?;
//!         // ... work, and look at `guard.lost()` now and then ...
//!         guard.release()?;
//!     }
//!     Attempt::Held(_) | Attempt::TooLate => println!("another client holds it"),
//!     Attempt::Unknown(unknown) => eprintln!("{unknown}"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What a connection must be
//!
//! Those of [`connect`](crate::connect) are made for locks: one server, a cluster or Sentinel, with timeouts, opened anew
//! after they broke. Any other of the `redis` crate can be used as well: a single connection, a pooled one, a connection
//! manager. Two things matter:
//!
//! - **Timeouts.** A blocking `redis::Connection` waits for ever by default; set its read and write timeouts, or a
//!   server that hangs also hangs the release. The holder learns of a lost lock in any case: that does not
//!   depend on the server.
//! - **No command may be sent twice.** A release without an owner that runs again deletes the next holder's lock. Single
//!   connections and the connection manager never send a command again. The cluster connections of the `redis` crate do,
//!   up to 16 times, even with `set_auto_reconnect(false)`; nothing in them tells this driver so. Build their client with
//!   `.retries(0)`, which also ends the following of redirects, or use [`connect`](crate::connect), which follows
//!   redirects and nothing else.
//!
//! # Logging
//!
//! Through `log`: *debug* for the ordinary, *warn* for whatever may leave a lock behind or was lost. The targets are
//! stable:
//!
//! | target | what |
//! |---|---|
//! | `lockshift::driver::acquire` | acquired; not acquired; an attempt that was interrupted; a place in a queue that was not left |
//! | `lockshift::driver::renew` | renewed; could not renew; lost |
//! | `lockshift::driver::release` | released; lost before; not released |
//! | `lockshift::driver::connect` | one of several servers could not be asked |
//! | `lockshift::driver::shadow` | where a lock and its shadow disagree |
//! | `lockshift::driver::listen` | listening for releases; not any more; refused |
//!
//! # Counting
//!
//! Each lock counts what becomes of it ([`Counters`]); several locks may share one set of counters. They are plain
//! numbers, to be exported in whatever way a program has: `examples/metrics.rs` prints them for Prometheus.

#[cfg(feature = "tokio")]
pub mod aio;
pub mod blocking;

mod acquisition;
mod connection;
mod counters;
mod error;
mod error_kind;
mod events;
pub mod host;
mod interrupted;
mod late_replies;
mod lease_state;
mod outcome;
mod pubsub;
mod refusal;
mod renewal;
mod run;
mod shadow;
mod wait;
mod waiters;
mod waiting;
mod wake_up;
mod watched_lease;

pub(crate) use connection::unsent;
pub use counters::{Counted, Counters};
pub use error::Error;
pub use error_kind::ErrorKind;
pub use interrupted::{Cause, Interrupted, Unanswered};
pub use lease_state::Loss;
pub use outcome::{Answer, Attempt, Unknown};
pub use renewal::Renewal;
pub use shadow::Tally;
#[cfg(feature = "sim")]
pub(crate) use wait::Patience;
pub use wait::Wait;
