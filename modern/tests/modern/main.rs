//! The modern locks, driven by hand: every command that they say, every reply that they may get.
//!
//! - [`dialogue`]: a protocol played against a written dialogue.
//! - [`redlock`]: a token on most of several servers.
//! - [`token`]: the token lock, its lease in four forms, its clocks.
//! - [`compare`]: release and extension, by script and by native command.
//! - [`detection`]: what a server can compare, by its own account.
//! - [`fenced`]: the token lock that counts its winners.
//! - [`reentrant`]: the re-entrant lock, with a fence and without.
//! - [`multi`]: several keys at once.
//! - [`redisson`]: the locks of Redisson.

mod compare;
mod detection;
mod dialogue;
mod fenced;
mod multi;
mod redisson;
mod redlock;
mod reentrant;
mod token;
