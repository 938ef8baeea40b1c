//! What every Redis lock shares, old or new: the owner, the lease, what a winner holds, how an attempt, a release and an
//! extension can end, and [`Locker`], the trait that every protocol implements.
//!
//! This crate has no protocol in it and does no I/O. Drivers, explorer and protocols have nothing else in common but the
//! wire.
//!
//! # A tour
//!
//! A protocol is a function over a transcript. It leaves with the command that it needs, and is run again from its start
//! when the reply is recorded. This one is SETNX of a token, with a release that compares:
//!
//! ```
//! use core::time::Duration;
//! use lockshift_lock::{
//!     Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Owner, Ownership, Refusal, Released, Token,
//! };
//! use lockshift_wire::{Command, Key, MonoTime, Pending, Reading, Reply, Transcript, Turn, UnixTime};
//!
//! struct Plain(Key, Lease);
//!
//! impl Locker for Plain {
//!     fn key(&self) -> &Key { &self.0 }
//!     fn lease(&self) -> Lease { self.1 }
//!
//!     fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
//!         let since = redis.clock()?;
//!         let value = owner.token.hex().into_bytes();
//!         Ok(if redis.setnx(&self.0, &value)? {
//!             Acquired::Won(Hold { value, since, lease: self.1, fence: None })
//!         } else {
//!             Acquired::Held(Held::because(Refusal::Live))
//!         })
//!     }
//!
//!     fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
//!         if redis.get(&self.0)?.as_deref() != Some(&hold.value[..]) {
//!             return Ok(Released::Lost);
//!         }
//!         Ok(if redis.del(&self.0)? { Released::Freed } else { Released::Lost })
//!     }
//!
//!     // It compares in one step and deletes in the next: a driver must not send it once the lock is lost.
//!     fn late_release(&self) -> LateRelease { LateRelease::MayFreeAnother }
//!     // Nothing sets an expiry.
//!     fn expires(&self) -> bool { false }
//!     fn extend(&self, _: &Hold, _: &mut Transcript) -> Turn<Extended> { Ok(Extended::Unsupported) }
//!
//!     fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
//!         Ok(match redis.get(&self.0)? {
//!             None => Ownership::Free,
//!             Some(value) if value == hold.value => Ownership::Ours { left: None },
//!             Some(_) => Ownership::Theirs,
//!         })
//!     }
//! }
//!
//! let lock = Plain("invoices".into(), Lease::new(Duration::from_secs(30))?);
//! let me = Owner::new(Token::new([7; 16]), 77, 1);
//! let mut redis = Transcript::new();
//! assert_eq!(lock.acquire(&me, redis.rewind()), Err(Pending::Clock));
//! redis.record_clock(Reading { wall: UnixTime::from_nanos(0), mono: MonoTime::since_origin(Duration::ZERO) });
//! let Err(Pending::Send(_setnx)) = lock.acquire(&me, redis.rewind()) else { panic!("a command to send") };
//! redis.record_reply(Reply::Int(1));
//! assert!(matches!(lock.acquire(&me, redis.rewind()), Ok(Acquired::Won(_))));
//! # Ok::<(), lockshift_lock::LeaseError>(())
//! ```
//!
//! # What is here
//!
//! | for | |
//! |---|---|
//! | the client that acquires | [`Owner`], and its [`Token`], which no other attempt has |
//! | how long it may hold, and what it holds | [`Lease`], [`Hold`] |
//! | how an attempt ends | [`Acquired`]; if not with a win, with a [`Held`] that says why: [`Refusal`] |
//! | how a release, an extension, a question ends | [`Released`], [`Extended`], [`Ownership`] |
//! | a protocol | [`Locker`]; what it can harm when it is late: [`LateRelease`]; whom it excludes: [`Mode`] |
//! | where releases are announced | [`ReleaseChannel`] |
//! | the answers of several servers | [`Votes`], [`Vote`] |
//!
//! The outcomes are exhaustive on purpose: a driver, and a program that runs a protocol itself, must say what each of them
//! means to it, and a new one has to break its build.
#![no_std]

extern crate alloc;

mod hold;
mod lease;
mod locker;
mod outcome;
mod owner;
mod release_channel;
mod votes;

pub use hold::Hold;
pub use lease::{Lease, LeaseError};
pub use locker::{LateRelease, Locker, Mode};
pub use outcome::{Acquired, Extended, Held, Ownership, Refusal, Released};
pub use owner::{Owner, Token};
pub use release_channel::{RefusalScope, ReleaseChannel};
pub use votes::{Vote, Votes};
