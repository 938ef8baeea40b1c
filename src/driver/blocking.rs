//! Locks for threads, on any blocking connection of the `redis` crate.
//!
//! [`Lock`] tries and waits, [`ReleaseListener`] subscribes to the releases that it waits for, [`Guard`] holds, renews and
//! releases, [`LossWatch`] tells when a lock is lost or about to be, and [`run`] is the loop below them all. There is no async runtime underneath.
//!
//! A signal handler that runs on a thread while it waits for a reply ends that wait (EINTR, see signal(7)): the outcome is
//! [`Unknown`](crate::driver::Unknown). A program that handles signals blocks them on the threads that lock, as
//! `lockshift run` does.

mod acquisition;
mod carrier;
mod guard;
mod handshake;
mod home_process;
mod listener_task;
mod lock;
mod loss_watch;
mod masters;
mod release_listener;
mod renewing;
mod rounds;
mod shadow;
mod shadow_hold;
mod shared_connection;

pub use carrier::{Carrier, run};
pub use guard::Guard;
pub(crate) use handshake::connect_within;
pub use lock::Lock;
pub use loss_watch::LossWatch;
pub use masters::Masters;
pub use release_listener::ReleaseListener;
pub use rounds::run_together;
pub use shadow_hold::Shadow;
