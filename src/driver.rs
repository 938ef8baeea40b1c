//! Runs lock protocols on a real Redis: [`blocking`] for threads and, with the feature `tokio`, `aio` for tasks.
//!
//! A protocol comes in as a [`Locker`](crate::lock::Locker) and is never known by name here. On top of it this module puts
//! the policies: how to wait, how to renew, how a holder learns of a loss. *Held*, *lost* and *unknown* are values; an
//! [`Error`] means that the server cannot be used, and says what to do.
//!
//! # A tour
//!
//! ```no_run
//! use std::time::Duration;
//! use lockshift::driver::{Attempt, Renewal, Wait, blocking};
//! use lockshift::lock::Lease;
//! use lockshift::modern::TokenLock;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let connection = "redis://127.0.0.1/".parse::<lockshift::connect::Server>()?.connect()?;
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
//! The same with tasks; every future may be dropped at any point:
//!
//! ```no_run
//! # #[cfg(feature = "tokio")]
//! # async fn job() -> Result<(), Box<dyn std::error::Error>> {
//! # use std::time::Duration;
//! # use lockshift::driver::{Renewal, Wait, aio};
//! # use lockshift::lock::Lease;
//! # use lockshift::modern::TokenLock;
//! # let locker = TokenLock::new("invoices".into(), Lease::new(Duration::from_secs(30))?);
//! let connection = "redis://127.0.0.1/".parse::<lockshift::connect::Server>()?.connect_async().await?;
//! let lock = aio::Lock::new(connection, locker);
//! if let Some(mut guard) = lock.acquire(&Wait::backoff().for_at_most(Duration::from_secs(10))).await?.won() {
//!     guard.renew(Renewal::every_third()).await;
//!     let watch = guard.watch();
//!     tokio::select! {
//!         () = std::future::pending() => {} // the work
//!         Some(loss) = watch.wait() => eprintln!("the lock is lost ({loss:?})"),
//!     }
//!     guard.release().await?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Waiters that are notified of releases, a lock on several servers, one that its replicas have, one beside another:
//!
//! ```no_run
//! use std::num::NonZeroU8;
//! use std::time::Duration;
//! use lockshift::connect::Server;
//! use lockshift::driver::{Replication, Wait, blocking::{Lock, Masters, ReleaseListener, Shadow}};
//! use lockshift::lock::Lease;
//! use lockshift::modern::{Publish, Redlock, TokenLock};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server: Server = "redis+sentinel://sentinel-a,sentinel-b/mymaster".parse()?;
//! let lease = Lease::new(Duration::from_secs(30))?;
//! let token = TokenLock::new("invoices".into(), lease).announced(Publish::Everywhere);
//!
//! let listener = { let server = server.clone(); ReleaseListener::finding(move || server.client())? };
//! let notified = Lock::new(server.connect()?, token.clone()).notified_by(&listener);
//! let attempt = notified.acquire(&Wait::notified().for_at_most(Duration::from_secs(10)))?;
//!
//! let replicated = Lock::new(server.connect()?, token.clone())
//!     .replicated(Replication::to(1, Duration::from_millis(100)));
//!
//! let clients = ["redis://a/", "redis://b/", "redis://c/"].map(redis::Client::open);
//! let masters = Masters::new(clients.into_iter().collect::<Result<Vec<_>, _>>()?, Duration::from_millis(50));
//! let majority = Lock::new(masters, Redlock::new("invoices".into(), lease, NonZeroU8::new(3).expect("three")));
//!
//! let shadow = Shadow::new(server.connect()?, TokenLock::new("{invoices}:shadow".into(), lease));
//! let watched = Lock::new(server.connect()?, token).shadowed(&shadow);
//! # Ok(())
//! # }
//! ```
//!
//! And a single procedure, such as a question to the server, in the loop below all this:
//!
//! ```no_run
//! use lockshift::driver::blocking::run;
//! use lockshift::wire::Transcript;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut connection = redis::Client::open("redis://127.0.0.1/")?.get_connection()?;
//! let value = run(&mut connection, &|redis: &mut Transcript| redis.get(&"invoices".into()))?;
//! # Ok(())
//! # }
//! ```
//!
//! # What is here
//!
//! | to | use |
//! |---|---|
//! | acquire with threads, with tasks | [`blocking::Lock`], `aio::Lock`; what an attempt comes to is an [`Attempt`] |
//! | hold, extend, release | [`blocking::Guard`], `aio::Guard`; what the server answers is an [`Answer`] |
//! | say how to wait, how to renew | [`Wait`], [`Renewal`] |
//! | learn of a loss, or before it | [`blocking::LossWatch`], `aio::LossWatch`; how it came is a [`Loss`] |
//! | be woken by releases | [`blocking::ReleaseListener`], `aio::ReleaseListener` |
//! | use several independent servers | [`blocking::Masters`], `aio::Masters` |
//! | have replicas acknowledge | [`Replication`] |
//! | compare two protocols in production | [`blocking::Shadow`], `aio::Shadow`, [`ShadowSummary`] |
//! | run one procedure, or many at once | [`blocking::run`], `aio::run`, [`blocking::run_together`] |
//! | know what went wrong | [`Error`] and its [`ErrorKind`], [`Unknown`], [`Interrupted`] |
//! | export numbers | [`Counters`] |
//! | read the clocks that leases count on | [`host`] |
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
//! - **It may send no command twice.** A release without an owner that runs again deletes the next holder's lock. Single
//!   connections and the connection manager never send a command again. The cluster connections of the `redis` crate do,
//!   up to 16 times, even with `set_auto_reconnect(false)`: a lock on one of them ends with
//!   [`ErrorKind::ResendingConnection`] before it sends anything. Use [`connect`](crate::connect), which follows redirects
//!   and nothing else.
//!
//! Only a lock itself repeats something: a release during which the connection broke is sent once more, over the connection that
//! takes its place, if nothing but reads had been sent, or if the protocol compares what this hold wrote
//! ([`Locker::release_is_repeatable`](crate::lock::Locker::release_is_repeatable)). If the second one finds nothing, whether the
//! first has released stays unknown.
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
//! | `lockshift::locks` | of the [entry point](crate::locks): a release after the work that failed, or was not confirmed |
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
mod entries;
mod error;
mod error_kind;
mod events;
mod held_lock;
pub mod host;
mod interrupted;
mod late_replies;
mod lease_state;
mod link;
mod outcome;
mod pubsub;
mod refusal;
mod renewal;
mod replication;
mod run;
mod session;
mod shadow;
mod undisclaimed;
mod wait;
mod waiters;
mod waiting;
mod wake_up;
mod watched_lease;

#[cfg(feature = "guard")]
pub(crate) use connection::reply as reply_of;
pub(crate) use connection::{refusal_kind, unsent};
pub use counters::{Counted, Counters};
pub use error::Error;
pub use error_kind::ErrorKind;
pub use interrupted::{Cause, Interrupted, Unanswered};
pub(crate) use late_replies::FRESH;
pub use lease_state::Loss;
pub(crate) use outcome::what_remains;
pub use outcome::{Answer, Attempt, Unknown};
pub use renewal::Renewal;
pub use replication::Replication;
pub use shadow::ShadowSummary;
#[cfg(feature = "sim")]
pub(crate) use wait::Patience;
pub use wait::Wait;
