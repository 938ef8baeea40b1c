//! The modern locks, run step by step: every command that they send, every reply that they may receive.
//!
//! - [`dialogue`]: runs a protocol against a written dialogue.
//! - [`redlock`]: a token on a majority of several servers.
//! - [`token`]: the token lock, the four options of its lease, and its clocks.
//! - [`compare`]: release and extension, by script and by native command.
//! - [`detection`]: detection of the native compare commands.
//! - [`fenced`]: the token lock with a fence.
//! - [`reentrant`]: the re-entrant lock, with a fence and without.
//! - [`multi`]: several keys at once.
//! - [`fair`]: the token lock with a queue.
//! - [`semaphore`]: several holders at once.
//! - [`read_write`]: the read/write locks, ours and those of published articles.
//! - [`announcing`]: releases that are published.
//! - [`traits`]: what each lock says of itself.
//! - [`redisson`]: the locks of Redisson.

mod announcing;
mod compare;
mod detection;
mod dialogue;
mod fair;
mod fenced;
mod multi;
mod read_write;
mod redisson;
mod redlock;
mod reentrant;
mod semaphore;
mod token;
mod traits;
