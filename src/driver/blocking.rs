//! Locks for threads, on any blocking connection of the `redis` crate.
//!
//! [`Lock`] tries and waits, [`Bells`] hear the releases that it waits for, [`Guard`] holds and gives back, [`Watch`]
//! tells when a lock is lost, and [`run`] is the loop below them all. There is no async runtime underneath.

mod alarm;
mod asking;
mod bells;
mod beside;
mod carrier;
mod guard;
mod line;
mod listening;
mod lock;
mod masters;
mod renewing;
mod run;
mod shadow;
mod tenancy;
mod together;
mod watch;

pub use bells::Bells;
pub use beside::Shadow;
pub use carrier::Carrier;
pub use guard::Guard;
pub use lock::Lock;
pub use masters::Masters;
pub use run::run;
pub use together::run_together;
pub use watch::Watch;
