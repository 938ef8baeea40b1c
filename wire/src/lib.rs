//! What crosses the wire to Redis, and the one idea of lockshift: **a protocol is a plain function over a transcript**.
//!
//! A protocol does no I/O. It asks the [`Transcript`] for each reply; if the reply is recorded it goes on, if not it
//! leaves through `?` with [`Pending`], saying what it waits for. Whoever runs it sends that command, records the reply
//! and calls it again from the start. The same function, unchanged, so runs on a socket, in a simulator that tries
//! every interleaving, and over a recorded trace.
//!
//! ```
//! use lockshift_wire::{Command, Key, Pending, Reply, Transcript, Turn};
//!
//! // A protocol of five lines: take the next ticket, and see whether it is being served.
//! fn my_turn(queue: &Key, redis: &mut Transcript) -> Turn<bool> {
//!     let ticket = redis.incr(queue)?;
//!     let serving = redis.get(&queue.with_suffix(":serving"))?;
//!     Ok(serving == Some(ticket.to_string().into_bytes()))
//! }
//!
//! // Driven by hand: run, answer, run again.
//! let queue = Key::from("bakery");
//! let mut redis = Transcript::new();
//! assert_eq!(my_turn(&queue, redis.rewind()), Err(Pending::Send(Command::new("INCR").arg("bakery"))));
//! redis.record_reply(Reply::Int(7));
//! assert_eq!(my_turn(&queue, redis.rewind()), Err(Pending::Send(Command::new("GET").arg("bakery:serving"))));
//! redis.record_reply(Reply::bulk("7"));
//! assert_eq!(my_turn(&queue, redis.rewind()), Ok(true));
//! ```
//!
//! No socket, clock, thread or randomness exists in this crate: it is `no_std` with `alloc`. It knows nothing of locks.
#![no_std]

extern crate alloc;

mod command;
mod commands;
mod effect;
mod fault;
mod key;
mod pending;
mod phrase;
mod printable;
mod procedure;
mod reply;
mod round;
mod script;
mod slot;
mod time;
mod transcript;

pub use command::{Command, Node};
pub use commands::{Expiry, Only, Set, Ttl};
pub use fault::Fault;
pub use key::Key;
pub use pending::{Pending, Turn};
pub use printable::Printable;
pub use procedure::{Procedure, Unfinished};
pub use reply::Reply;
pub use round::{Heard, Silence};
pub use script::Script;
pub use time::{MonoTime, Reading, UnixTime};
pub use transcript::{Entry, Transcript};
