//! Locks for tasks of a tokio runtime, on any async connection of the `redis` crate.
//!
//! [`Lock`] tries and waits, [`Bells`] hear the releases that it waits for, [`Guard`] holds and gives back, [`Watch`]
//! tells when a lock is lost, and [`run`] is the loop below them all.
//!
//! Every future here may be dropped at any point. What was begun on the server is carried to its end by a task of its
//! own; a lock that is won when nobody waits for it any more is given back at once.

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
mod unattended;
mod watch;

pub use bells::Bells;
pub use beside::Shadow;
pub use carrier::Carrier;
pub use guard::Guard;
pub use lock::Lock;
pub use masters::Masters;
pub use run::run;
pub use watch::Watch;
