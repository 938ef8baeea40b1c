//! The modern Redis locks: a random token with an expiry, released by compare-and-delete.
//!
//! [`TokenLock`] is the lock of the Redis documentation since 2.6.12: `SET key token NX PX lease`, and a release that
//! deletes the key only while it still holds the token. [`Timing`] says in which other ways SET may be told the lease,
//! [`Native`] what a server can compare without a script. This crate knows nothing of the old timestamp locks.
#![no_std]

extern crate alloc;

mod fenced;
mod native;
mod rw;
mod rw_hash;
mod rw_pair;
mod timing;
mod token;

pub use fenced::FencedTokenLock;
pub use native::{CompareDelete, Native};
pub use rw::ReadWriteLock;
pub use rw_hash::StampHashLock;
pub use rw_pair::PairLock;
pub use timing::Timing;
pub use token::TokenLock;
