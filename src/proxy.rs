//! The proxy of `lockshift guard`: sockets on both sides of the [`guard`](crate::guard), which knows no socket.
//!
//! Each client connection has an upstream connection of its own, so the state of a connection (its user, its database, its
//! protocol version, its transaction) stays with its client. Everything that is not a guarded command on a guarded key is
//! copied byte for byte in both directions, in pieces: no command and no reply is kept as a whole. A guarded command waits
//! until all earlier commands of its connection are answered; then the guard runs alone on the upstream connection, and its
//! answer follows the earlier replies.
//!
//! A key may be observed instead: its commands pass unchanged, one at a time for each key, and are reported with their
//! replies, in the order in which the server ran them.
//!
//! For that the proxy must know where commands and replies end. `frame::Scanner` finds that out without keeping
//! contents; complete frames, which are small, are decoded by the `redis` crate.

mod address;
mod admin;
mod counters;
mod decode;
mod encode;
mod event;
mod frame;
mod guarded_keys;
mod leases;
mod listener;
mod metrics;
mod observed_writes;
mod renewals;
mod request;
mod server_refusal;
mod serving_threads;
mod session;
mod settings;
mod shared;
mod stream;
mod subscriber_question;
mod tls;
mod traffic;
mod turns;
mod unanswered;
mod unconfirmed;
mod yielding;

pub use address::{ProxyAddress, Upstream};
pub use counters::{GuardedPattern, ProxyCounters, ProxyCounts};
pub use event::{EventSink, Occurrence, ProxyEvent};
pub use guarded_keys::{GuardedKeys, Treatment};
pub use listener::{GuardProxy, bind, serve_streams};
pub use settings::{ProxySettings, SettingsHandle};
pub use tls::{InvalidTls, ListenTls, UpstreamTls};
