//! The drivers, on a real server: what holds for threads must hold for tasks, so most of it is told once and played in
//! both worlds ([`world`]).

mod abandoning;
mod announcing;
mod bridging;
mod connections;
mod counting;
mod dropping;
mod gate;
mod hearing;
mod holding;
mod lockers;
mod logbook;
mod losing_replies;
mod queueing;
mod releasing_late;
mod renewing;
mod shadowing;
mod troubles;
mod waiting;
mod world;

#[cfg(feature = "tokio")]
mod cancelling;
