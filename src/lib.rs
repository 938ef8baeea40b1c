//! Redis locks across generations: the old timestamp locks and the modern token lock, on keys that they share.
//!
//! A lock protocol here is a plain function over a transcript ([`wire`]).

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
#[cfg(feature = "cli")]
pub mod cli;
pub mod compare;
pub mod connect;
pub mod driver;
#[cfg(feature = "sim")]
pub mod dry_run;
#[cfg(feature = "sim")]
pub mod explore;
pub mod inspect;
pub mod locks;
#[cfg(feature = "sim")]
pub mod matrix;
pub mod monitor;
#[cfg(feature = "sim")]
pub mod plan;
pub mod protocols;
pub mod race_id;
#[cfg(feature = "sim")]
pub mod races;
pub mod rehearsal;
#[cfg(feature = "sim")]
pub mod replay;
#[cfg(feature = "cli")]
pub mod report;
pub mod scan;
pub mod sim;

/// The program in the readme is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// So are those in the guide.
#[cfg(doctest)]
#[doc = include_str!("../migration-guide.md")]
struct Guide;
