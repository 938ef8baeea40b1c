//! Redis locks across generations: the old timestamp locks and the modern token lock, on keys that they share.
//!
//! # A tour
//!
//! A lock protocol is a plain function over a [`Transcript`](wire::Transcript): it reads like the article that it comes
//! from, does no I/O, and is run again from its start after every reply. Everything else runs that function:
//!
//! - [`Locks`] and the [`driver`] below it run it on a real Redis, with threads or with async tasks;
//! - [`explore`](https://docs.rs/lockshift/latest/lockshift/explore/) runs it in every interleaving of several clients;
//! - [`audit`](https://docs.rs/lockshift/latest/lockshift/audit/) recognises it in a recorded trace.
//!
//! ```no_run
//! use std::time::Duration;
//! use lockshift::Locks;
//!
//! # fn work() {}
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let locks = Locks::connect("redis://127.0.0.1/")?;
//! // The lock that the PHP services of this fleet use, on their key.
//! let lock = locks.legacy("php-getset", "invoices", Duration::from_secs(30))?;
//! lock.with(Duration::from_secs(5), |_held| work())?;
//! # Ok(())
//! # }
//! ```
//!
//! # The modules
//!
//! | to | use |
//! |---|---|
//! | lock on a real Redis | [`Locks`], the entry point |
//! | decide on connections, waiting and renewal yourself | [`connect`] and [`driver`], with [`legacy`], [`modern`] or [`bridge`] |
//! | name a protocol at run time | [`protocols`] |
//! | see what is on a server | [`inspect`], [`scan`] |
//! | see what happened on a server | [`monitor`]; and with the feature `sim` `audit` and `dry_run` |
//! | see what can go wrong | with the feature `sim`: `races`, `explore`, `matrix`, `plan`, `replay` |
//! | measure | [`compare`] |
//! | write a protocol | [`wire`], [`lock`], and with the feature `sim` the simulated server in `sim` |
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `cli` (default) | the command, with all features but `tokio`; not on Windows |
//! | `tokio` | `aio`, the same for async programs |
//! | `cluster` | Redis Cluster |
//! | `tls` | `rediss://` |
//! | `sim` | the simulated server with real Lua, and everything built on it |
//! | `capture` | packet captures as a source of the audit |
//! | `guard` | `proxy`, the sockets of `lockshift guard`; not on Windows |

pub use locks::Locks;
#[cfg(feature = "tokio")]
pub use locks::aio;
pub use lockshift_legacy as legacy;
pub use lockshift_lock as lock;
pub use lockshift_modern as modern;
pub use lockshift_wire as wire;
/// The Redis client whose connections and errors this library uses.
pub use redis;

#[cfg(feature = "sim")]
pub mod audit;
pub mod bridge;
#[cfg(feature = "capture")]
pub mod capture;
#[cfg(feature = "cli")]
pub mod cli;
pub mod compare;
pub mod connect;
#[cfg(feature = "sim")]
pub mod doctor;
pub mod driver;
#[cfg(feature = "sim")]
pub mod dry_run;
#[cfg(feature = "sim")]
pub mod explore;
pub mod guard;
pub mod inspect;
pub mod locks;
#[cfg(feature = "sim")]
pub mod matrix;
pub mod monitor;
#[cfg(feature = "sim")]
pub mod odds;
#[cfg(feature = "sim")]
pub mod permissions;
#[cfg(feature = "sim")]
pub mod plan;
pub mod protocols;
#[cfg(feature = "guard")]
pub mod proxy;
pub mod race_id;
#[cfg(feature = "sim")]
pub mod races;
#[cfg(feature = "cli")]
pub mod redaction;
pub mod rehearsal;
#[cfg(feature = "sim")]
pub mod replay;
#[cfg(feature = "cli")]
pub mod report;
pub mod scan;
pub mod sim;

/// Compiles the program in the readme.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Compiles the programs in the guide.
#[cfg(doctest)]
#[doc = include_str!("../migration-guide.md")]
struct Guide;

/// Compiles our programs in the comparison.
#[cfg(all(doctest, feature = "tokio"))]
#[doc = include_str!("../docs/comparison.md")]
struct ComparisonPage;
