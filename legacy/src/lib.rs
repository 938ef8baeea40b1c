//! The old Redis timestamp locks, byte for byte: SETNX, GET, GETSET, and an expiry timestamp as the value.
//!
//! Some fifty programs in eight languages wrote this lock, each a little differently. A [`Dialect`] is one of them as data:
//! a value on each axis. [`Lock`] runs any dialect as a protocol over a
//! [`Transcript`](lockshift_wire::Transcript); the caller sends the commands.
//!
//! ```
//! use core::time::Duration;
//! use lockshift_legacy::Lock;
//! use lockshift_lock::{Acquired, Lease, Locker, Owner, Token};
//! use lockshift_wire::{Command, Key, MonoTime, Pending, Reading, Reply, Transcript, UnixTime};
//!
//! let dialect = lockshift_legacy::find("php-getset").expect("the PHP article's lock");
//! let lock = Lock::new(dialect, Key::from("lock:test"), Lease::new(Duration::from_secs(10))?);
//! let me = Owner::new(Token::new([7; 16]), 77, 1);
//!
//! let mut redis = Transcript::new();
//! assert_eq!(lock.acquire(&me, redis.rewind()), Err(Pending::Clock));
//! let wall = UnixTime::from_secs(1_700_000_000).expect("before 2262");
//! redis.record_clock(Reading { wall, mono: MonoTime::since_origin(Duration::ZERO) });
//! let setnx = Command::new("SETNX").arg("lock:test").arg("1700000010");
//! assert_eq!(lock.acquire(&me, redis.rewind()), Err(Pending::Send(setnx)));
//! redis.record_reply(Reply::Int(1));
//! let expire = Command::new("EXPIRE").arg("lock:test").arg("10");
//! assert_eq!(lock.acquire(&me, redis.rewind()), Err(Pending::Send(expire)));
//! redis.record_reply(Reply::Int(1));
//! assert!(matches!(lock.acquire(&me, redis.rewind()), Ok(Acquired::Won(_))));
//! # Ok::<(), lockshift_lock::LeaseError>(())
//! ```
//!
//! - [`catalogue()`], [`find`]: every known implementation, one row each, with the versions that behave so and the key
//!   that it makes of a name ([`KeyName`]).
//! - [`Dialect`] and its axes: what a client writes ([`Form`], [`Stamp`], [`Digits`]), its first command ([`Claim`]), how it
//!   judges a stored value ([`Look`]), how it takes over an expired lock ([`Takeover`]), [`Ttl`], [`Release`], [`Retry`].
//! - [`Reader`]: how PHP, Java, Ruby, Python, C#, JavaScript and Go make a number of a stored value, right or wrong.
//! - [`Polling`]: the loop of the Java article, which attempts once less often than its caller asks for.
//!
//! The crate is `no_std`, opens no socket and reads no clock. It does not know the modern token locks.
#![no_std]

extern crate alloc;

pub mod catalogue;
mod dialect;
mod lock;
mod polling;
mod reader;
mod scripts;

pub use catalogue::{catalogue, find};
pub use dialect::{
    Absent, Candidate, Check, Claim, Clock, Dialect, Digits, Family, Form, Judged, KeyName, Keys, Language, Lifetime,
    Limit, Live, Look, LookOrder, Looks, Loser, Missing, Moment, Now, OldNil, OnError, Part, Pause, Presence, Refresh,
    Release, Retry, Rule, Script, Stamp, Takeover, Test, Ttl, Unit, Unreadable, Verdict, Watch, Words,
};
pub use lock::Lock;
pub use polling::{Polling, PollingStep};
pub use reader::{Comparison, Number, Reader};
