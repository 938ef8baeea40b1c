//! The proxy of `lockshift guard`: sockets on both sides of the [`guard`](crate::guard), which knows no socket.
//!
//! Each client connection has an upstream connection of its own, so the state of a connection (its user, its database, its
//! protocol version, its transaction) stays with its client. Everything that is not a guarded command on a guarded key is
//! copied byte for byte in both directions, in pieces: no command and no reply is kept as a whole. A guarded command waits
//! until all earlier commands of its connection are answered; then the guard runs alone on the upstream connection, and its
//! answer follows the earlier replies.
//!
//! For that the proxy must know where commands and replies end. `frame::Scanner` finds that out without keeping
//! contents; complete frames, which are small, are decoded by the `redis` crate.

mod counters;
mod frame;
mod guarded_keys;
mod listener;
mod request;
mod session;

pub use counters::{Counters, Counts};
pub use guarded_keys::GuardedKeys;
pub use listener::{Address, Guard, bind};
