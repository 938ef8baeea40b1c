//! Locks for tasks of a tokio runtime, on any async connection of the `redis` crate.
//!
//! [`Lock`] tries and waits, [`ReleaseListener`] subscribes to the releases that it waits for, [`Guard`] holds, renews and
//! releases, [`LossWatch`] tells when a lock is lost or about to be, and [`run`] is the loop below them all.
//!
//! Every future here may be dropped at any point. What was begun on the server is then carried to its end by a task of its
//! own; a lock that is won when its caller has gone is released at once. A future that is kept and not polled may stand still
//! half-way, with the lock won on the server, until it is polled or dropped, or the lease ends; it blocks no other future.

mod acquisition;
mod carrier;
mod guard;
mod listener_task;
mod lock;
mod loss_watch;
mod masters;
mod release_listener;
mod renewing;
mod shadow;
mod shadow_hold;
mod shared_connection;
mod timetable;
mod unattended;

pub use carrier::{Carrier, run};
pub(crate) use carrier::{answered, cmd};
pub use guard::Guard;
pub use lock::Lock;
pub use loss_watch::LossWatch;
pub use masters::Masters;
pub use release_listener::ReleaseListener;
pub use shadow_hold::Shadow;
