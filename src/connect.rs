//! Connections that last: to one server, a cluster, or the master that sentinels name.
//!
//! A [`Server`] is what an address names; [`blocking::Connection`] and, with the feature `tokio`, [`aio::Connection`]
//! carry commands to it. They implement the connection traits of the `redis` crate, so locks and everything else can
//! use them.
//!
//! A connection opens when it is first needed and again after it broke, **between commands and never within one**. A
//! command whose reply did not arrive is not sent again: whether it ran is unknown, and only the protocol that sent it
//! can tell what that means; a lock repeats such a release where that can do no harm. `MOVED`, `ASK` and `TRYAGAIN` are
//! followed, because such a command was not executed. A connection that has been idle for a second, or that owes a reply, or
//! that belongs to another runtime, is asked PING before it is used, so that one that broke meanwhile is replaced and no lock
//! notices.
//!
//! Many tasks share a connection best by [`aio::Batching`], which sends together what their locks send at the same time; the
//! locks of [`aio::Locks`](crate::aio::Locks) use it.
//!
//! | address | what it names |
//! |---|---|
//! | `redis://[user:password@]host[:port][/db]` | one server |
//! | `rediss://...` | the same, encrypted; see [`Server::trusting`] |
//! | `redis+unix:///path[?db=0&pass=secret]` | one server, by its socket |
//! | `redis://...?cluster=true`, or several addresses with commas between them | a cluster, by some of its nodes |
//! | `redis+sentinel://[user:password@]host[:port][,host[:port]...]/service[/db]` | the master of that name; `rediss+sentinel://` if encrypted |
//!
//! User, password and database of a sentinel address are those of the master. The sentinels' own login, where they
//! want one, is in the parameters `sentinel_username` and `sentinel_password`. A user without a password logs in with an empty
//! one. `protocol=resp3` is understood behind every address, and a parameter that is not is refused.
//!
//! ```no_run
//! use std::time::Duration;
//! use lockshift::connect::Server;
//! use lockshift::driver::blocking::Lock;
//! use lockshift::lock::Lease;
//! use lockshift::modern::TokenLock;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let lease = Duration::from_secs(10);
//! let server: Server = "redis+sentinel://sentinel-a,sentinel-b/mymaster".parse()?;
//! let lock = Lock::new(server.for_lease(lease).connect()?, TokenLock::new("invoices".into(), Lease::new(lease)?));
//! let attempt = lock.try_acquire()?;
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "tokio")]
pub mod aio;
pub mod blocking;

mod address;
#[cfg(feature = "tokio")]
mod batch;
mod delivery;
mod node;
mod routing;
mod server;
mod slots;
#[cfg(feature = "guard")]
mod tls_alert;
mod topology;
mod transaction;

pub use address::InvalidAddress;
pub use server::Server;
#[cfg(feature = "guard")]
pub(crate) use tls_alert::{ClientCertificate, TlsAlert};
