//! Locks for threads, on any blocking connection of the `redis` crate.
//!
//! [`Lock`] tries and waits, [`Guard`] holds and gives back, [`Watch`] tells when a lock is lost, and [`run`] is the loop
//! below them all. There is no async runtime underneath.

mod beside;
mod carrier;
mod guard;
mod line;
mod lock;
mod masters;
mod renewing;
mod run;
mod shadow;
mod tenancy;
mod together;
mod watch;

pub use beside::Shadow;
pub use carrier::Carrier;
pub use guard::Guard;
pub use lock::Lock;
pub use masters::Masters;
pub use run::run;
pub use together::run_together;
pub use watch::Watch;
