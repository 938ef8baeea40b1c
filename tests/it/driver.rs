//! The drivers, on a real server: what holds for threads must hold for tasks, so most of it is written once and run in
//! both worlds ([`world`]).

mod abandoning;
mod announcing;
mod bridging;
mod connections;
mod counting;
mod dropping;
mod error_kinds;
mod gate;
mod hanging;
mod holding;
mod lockers;
pub(crate) mod logbook;
mod losing_replies;
mod queueing;
mod release_notifications;
mod releasing_late;
mod renewing;
mod replicating;
mod shadowing;
mod side_by_side;
mod waiting;
mod world;

#[cfg(feature = "tokio")]
mod cancelling;
#[cfg(feature = "tokio")]
mod standing_still;
