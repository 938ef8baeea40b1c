//! The guard: what a proxy beside an old client does so that the client is as safe as its protocol allows, without a change
//! to the client.
//!
//! The guard is a procedure like every protocol: a function over a [`Transcript`](crate::wire::Transcript) of what it sends
//! to the server, from the state of a client's connection and the client's next command to an [`Answer`]. So the proxy runs
//! it on a socket, and the explorer between a client and the simulated server ([`Guarded`]).
//!
//! For each key the guard runs the client's own protocol over what the client has sent and was answered, and so knows where
//! in its protocol the client is. With the first command that could acquire the lock the guard decides: a script judges
//! nothing, but replaces exactly the value that the guard has judged by the server's clock, and writes the guard's own
//! stamp. The first time the guard assumes that there is no key and that the server's clock is the host's: the script
//! writes if both are so, and otherwise answers what it has found. From then on the client is answered so that its own
//! function reaches this decision at any clock:
//!
//! ```text
//! client -> SETNX invoices 1700000030      guard -> write 01700000030 if there is no key: it is written
//! client <- 1                              the client has won, and so has its stamp on the server
//!
//! client -> SETNX invoices 1700000030      guard -> write 01700000030 if there is no key: 01699999990, which has expired
//!                                          guard -> write 01700000030 in place of 01699999990: it is written
//! client <- 1
//!
//! client -> SETNX invoices 1700000030      guard -> write 01700000030 if there is no key: 01700000020, a live stamp
//! client <- 0
//! client -> GET invoices
//! client <- 7258118400                     the year 2200: held, whatever the client's clock says
//! ```
//!
//! What the client overwrites, deletes or expires afterwards acts on its own lock only: DEL compares the guard's stamp.
//!
//! The guard reads the clock of the client's host to learn how much longer a stamp is ahead of it; its clock and the
//! client's must be the same, so a guard belongs on the host of its clients.
//!
//! Some dialects have no answer that makes them win, or lose, at any clock; [`Rule::new`] refuses them with the reason,
//! [`Unguardable`]. It finds out by running them.

mod answer;
mod conclusions;
mod connection_part;
mod decision;
mod guarded;
mod guarded_connection;
mod key_session;
mod playing;
mod protocol_run;
mod rule;
mod scripts;
mod unguardable;

#[cfg(test)]
mod tests;

pub use answer::{Answer, Note, RefusedBecause};
pub use connection_part::{CommandToServe, ConnectionPart};
pub use decision::Decision;
pub use guarded::Guarded;
pub use guarded_connection::GuardedConnection;
pub use rule::{Lifetime, Rule};
#[cfg(feature = "sim")]
pub(crate) use scripts::GuardScript;
pub use unguardable::Unguardable;
