//! A Redis small enough to clone, compare and hash: the server of the explorer, of the audit and of every command that
//! needs no outside party.
//!
//! It answers the commands that locks and their foreign clients use, with the replies and the error texts of a real
//! server (7.0, and the native compare commands of Redis 8.4 and Valkey 9), on a clock that it is handed. Scripts run in
//! the Lua 5.1 that Redis itself embeds. It imports `wire` and nothing else of this project: no protocol, no socket, no
//! host clock.
//!
//! Without the feature `sim` there is no Lua: EVAL is then a command that the server does not know.
//!
//! Left out: everything around the keys (files, replicas, cluster slots, users, eviction, keyspace events; a restart is a
//! method), types and commands that no lock was seen to use (streams, blocking pops, `INCRBYFLOAT`, `ZRANGE BYLEX`,
//! digests), RESP3, and in scripts all but the language and `redis` itself. [`Server::knows`] says what is there.
//!
//! ```
//! use lockshift::sim::{Flavour, Server, Session};
//! use lockshift::wire::{Command, Reply, UnixTime};
//!
//! let mut redis = Server::new(Flavour::Redis70);
//! let alice = Session(1);
//! let noon = UnixTime::from_secs(43_200).unwrap();
//! let set = Command::new("SET").arg("lock").arg("alice").arg("NX").arg("PX").arg("1000");
//! assert_eq!(redis.call(alice, &set, noon), Reply::ok());
//! assert_eq!(redis.call(alice, &set, noon), Reply::Nil);
//!
//! let later = UnixTime::from_secs(43_202).unwrap();
//! assert_eq!(redis.call(alice, &Command::new("GET").arg("lock"), later), Reply::Nil);
//! ```

mod flavour;
mod rewrite;
mod server;
mod session;
mod state;

mod call;
pub(crate) mod glob;
mod number;
mod refusal;
mod row;

mod database;
mod ranking;
mod value;

mod channels;
mod compare;
mod connection;
mod counters;
mod expiry;
mod hashes;
mod introspection;
mod keys;
#[cfg(feature = "sim")]
mod library;
mod lists;
#[cfg(feature = "sim")]
mod lua;
mod ranges;
mod rankings;
#[cfg(feature = "sim")]
mod scripts;
mod set;
mod sets;
mod strings;
#[cfg(feature = "sim")]
mod timed_servers;
mod transactions;

#[cfg(feature = "sim")]
mod event_queue;

#[cfg(feature = "sim")]
pub(crate) use event_queue::EventQueue;
pub use flavour::Flavour;
#[cfg(feature = "guard")]
pub(crate) use glob::matches as matches_glob;
pub use ranking::Ranking;
pub use rewrite::Rewrite;
pub use server::{Seen, Server, Stored};
pub use session::{Message, Session, Via};
#[cfg(feature = "sim")]
pub(crate) use timed_servers::TimedServers;
pub use value::Value;
