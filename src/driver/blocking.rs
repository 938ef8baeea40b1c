//! Locks for threads, on any blocking connection of the `redis` crate.
//!
//! [`Lock`] tries and waits, [`Bells`] hear the releases that it waits for, [`Guard`] holds and gives back, [`Watch`]
//! tells when a lock is lost, and [`run`] is the loop below them all. There is no async runtime underneath.

mod alarm;
mod asking;
mod bells;
mod guard;
mod line;
mod listening;
mod lock;
mod renewing;
mod run;
mod tenancy;
mod watch;

pub use bells::Bells;
pub use guard::Guard;
pub use lock::Lock;
pub use run::run;
pub use watch::Watch;
