//! The modern Redis locks: a random token with an expiry, released by compare-and-delete.
//!
//! [`TokenLock`] is the lock of the Redis documentation since 2.6.12: `SET key token NX PX lease`, and a release that
//! deletes the key only while it still holds the token. [`Timing`] says in which other ways SET may be told the lease,
//! [`Native`] what a server can compare without a script. [`FencedTokenLock`] counts its winners, [`MultiKeyLock`] takes
//! several keys at once. [`ReentrantLock`] is a hash whose owner may enter again, [`ReadWriteLock`] has an entry for every
//! reader; [`redisson`] are Redisson's locks on its wire. This crate knows nothing of the old timestamp locks.
//!
//! ```
//! use core::time::Duration;
//! use lockshift_lock::{Acquired, Lease, Locker, Owner, Token};
//! use lockshift_modern::TokenLock;
//! use lockshift_wire::{MonoTime, Pending, Reading, Reply, Transcript, UnixTime};
//!
//! let lock = TokenLock::new("invoices".into(), Lease::new(Duration::from_secs(30))?);
//! let me = Owner::new(Token::new([7; 16]), 77, 1);
//!
//! // Driven by hand: run, answer, run again. A driver does this in a loop.
//! let mut redis = Transcript::new();
//! assert_eq!(lock.acquire(&me, redis.rewind()), Err(Pending::Clock));
//! redis.record_clock(Reading { wall: UnixTime::from_nanos(0), mono: MonoTime::since_origin(Duration::ZERO) });
//! let Err(Pending::Send(set)) = lock.acquire(&me, redis.rewind()) else { panic!("it asks for a reply") };
//! assert_eq!(set.to_string(), "SET invoices 07070707070707070707070707070707 NX PX 30000");
//! redis.record_reply(Reply::ok());
//! let Ok(Acquired::Won(hold)) = lock.acquire(&me, redis.rewind()) else { panic!("the key was free") };
//! assert_eq!(hold.valid_until(), MonoTime::since_origin(Duration::from_millis(30_000 - 302)));
//! # Ok::<(), lockshift_lock::LeaseError>(())
//! ```
#![no_std]

extern crate alloc;

mod fair;
mod fence;
mod fenced;
mod field;
mod member;
mod multi;
mod native;
mod publish;
pub mod redisson;
mod redlock;
mod reentrant;
mod rw;
mod rw_hash;
mod rw_pair;
mod semaphore;
mod timing;
mod token;

pub use fair::FairLock;
pub use fenced::FencedTokenLock;
pub use multi::{MultiKeyLock, NotTogether};
pub use native::{CompareDelete, Native};
pub use publish::Publish;
pub use redlock::Redlock;
pub use reentrant::ReentrantLock;
pub use rw::ReadWriteLock;
pub use rw_hash::StampHashLock;
pub use rw_pair::PairLock;
pub use semaphore::Semaphore;
pub use timing::Timing;
pub use token::TokenLock;
