//! Redis commands and replies as values, and the idea of lockshift: **a lock protocol is a plain function over a
//! transcript**.
//!
//! A protocol does no I/O. It asks the [`Transcript`] for each reply. If the reply is recorded, the function goes on; if
//! not, it returns [`Pending`] through `?` and says what it waits for. Its driver sends that command, records the reply
//! and calls the function again from the start. So the same function, unchanged, runs on a socket, in a simulator that
//! tries every interleaving, and over a recorded trace.
//!
//! ```
//! use lockshift_wire::{Command, Key, Pending, Reply, Transcript, Turn};
//!
//! // A protocol of three lines: take the next ticket and see whether it is being served.
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
//! The rest of the crate is what protocols and drivers share:
//!
//! - [`Transcript`], [`Turn`], [`Pending`]: a protocol's questions, their answers, and what it waits for. The typed
//!   commands (`get`, `set`, `transaction`, ...) are methods of the transcript.
//! - [`Procedure`]: any such function, and [`run_at`](Procedure::run_at) to run it against an answering closure.
//! - [`Command`], [`CommandWord`], [`Key`], [`Reply`], [`Fault`]: bytes on the wire, and the replies that no protocol can go on from.
//! - [`Script`], [`script_file!`]: Lua as a typed command, EVALSHA first and EVAL where the server does not know the
//!   script.
//! - [`UnixTime`], [`MonoTime`], [`Reading`]: wall clock and monotonic clock as different types, passed in and never read.
//! - [`Node`], [`NodeReply`], [`NoReply`]: one command each to several servers, and what came back from each.
//!
//! The crate is `no_std` with `alloc` and knows nothing of locks: it has no socket, clock, thread or randomness.
#![no_std]

extern crate alloc;

mod ask;
mod command;
mod commands;
mod decimal;
mod effect;
mod fault;
mod key;
mod key_text;
mod pending;
mod printable;
mod procedure;
mod reply;
mod round;
mod script;
mod slot;
mod time;
mod transcript;
mod word;

pub use command::{Command, Node};
pub use commands::{Expiry, Only, Set, Ttl};
pub use fault::Fault;
pub use key::Key;
pub use pending::{Pending, Turn};
pub use printable::Printable;
pub use procedure::{Procedure, Unfinished};
pub use reply::Reply;
pub use round::{NoReply, NodeReply};
pub use script::Script;
#[doc(hidden)]
pub use script::{lua_code, lua_code_length};
pub use time::{MonoTime, Reading, UnixTime};
pub use transcript::{Entry, Transcript};
pub use word::CommandWord;
