//! The modern Redis locks: random tokens with an expiry, released only by their owner.
//!
//! Each lock is a [`Locker`](lockshift_lock::Locker): a protocol that sends no command itself. A driver runs it on a real
//! connection; the end of this page runs one step by step. Each type documents its guarantees and its limits.
//!
//! ```
//! # use core::{num::{NonZeroU8, NonZeroU32}, time::Duration};
//! use lockshift_lock::{Lease, Mode};
//! use lockshift_modern::{FairLock, FencedTokenLock, MultiKeyLock, ReadWriteLock, Redlock, ReentrantLock};
//! use lockshift_modern::{Native, Publish, Semaphore, Timing, TokenLock, redisson};
//!
//! let lease = Lease::new(Duration::from_secs(30))?;
//!
//! // `SET key token NX PX lease`, and a release that deletes the key only while it holds the token.
//! let token = TokenLock::new("invoices".into(), lease);
//! // The lease as an absolute time, native compare-and-delete, and a notification for waiters on release.
//! let absolute = token.clone().timed(Timing::PxAt).native(Native::REDIS_8_4);
//! let announced = token.announced(Publish::Everywhere);
//! // A number that grows with every acquisition, for a resource that rejects a lower one.
//! let fenced = FencedTokenLock::new("invoices".into(), lease);
//! // First come, first served.
//! let fair = FairLock::new("invoices".into(), lease);
//! // Several keys of one hash slot, all of them or none.
//! let accounts = MultiKeyLock::new(["{bank}:alice".into(), "{bank}:bob".into()], lease)?;
//! // A thread may enter again; it releases once for every entry.
//! let reentrant = ReentrantLock::new("invoices".into(), lease);
//! // Many readers or one writer.
//! let reader = ReadWriteLock::new("invoices".into(), Mode::Shared, lease);
//! let writer = ReadWriteLock::new("invoices".into(), Mode::Exclusive, lease);
//! // At most five holders at once.
//! let exports = Semaphore::new("exports".into(), NonZeroU32::new(5).unwrap(), lease);
//! // A majority of three independent servers.
//! let redlock = Redlock::new("invoices".into(), lease, NonZeroU8::new(3).unwrap());
//! assert_eq!(redlock.majority(), 2);
//! // Redisson's locks, compatible with its clients on the same key.
//! let mutex = redisson::Mutex::new("orders".into(), lease).kind(redisson::Kind::Fenced);
//! let queue = redisson::Fair::new("orders".into(), lease);
//! let shared = redisson::ReadWrite::new("orders".into(), Mode::Shared, lease);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`StampHashLock`] and [`PairLock`] are read/write locks of published articles. They are supported because programs run
//! them; use [`ReadWriteLock`] for new code.
//!
//! # A protocol, step by step
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
//! // Run, record what the protocol needs, run again. A driver does this in a loop.
//! let mut redis = Transcript::new();
//! assert_eq!(lock.acquire(&me, redis.rewind()), Err(Pending::Clock));
//! redis.record_clock(Reading { wall: UnixTime::from_nanos(0), mono: MonoTime::since_origin(Duration::ZERO) });
//! let Err(Pending::Send(set)) = lock.acquire(&me, redis.rewind()) else { panic!("a command to send") };
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
pub use multi::{MultiKeyError, MultiKeyLock};
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
