//! The locks of Redisson, compatible on the wire with Redisson 4: its clients and these can share a key.
//!
//! A lock is a hash with a field for each owner, `<uuid>:<thread>`, which counts the owner's entries. The lock expires with
//! the hash. A release is published on a channel, and a separate key, the *latch*, stores its result, so that a release
//! that is sent twice counts once. The rest of Redisson's behaviour is policy and not in this module: waiting for the
//! channel ([`Locker::release_channel`](lockshift_lock::Locker::release_channel)), renewing after every third of the lease,
//! and sending WAIT after every command where there are replicas.
//!
//! [`Mutex`] is `getLock`, `getFencedLock`, `getSpinLock` and `getNonReentrantLock`, [`ReadWrite`] is one side of
//! `getReadWriteLock`, [`Fair`] is `getFairLock` and `getNonReentrantFairLock`. All clients of a name must use the same
//! kind, because the waiters of different kinds subscribe to different channels.
//!
//! A thread that has entered, enters again and loses the reply cannot find out whether it has entered once more. The
//! attempt is then not undone, and the lock expires with its lease.
//!
//! A known weakness: the owner has the same name in all attempts. A request that reaches the server late, after its sender
//! gave up, may so delete a later hold of the same thread, and another client acquires beside it.
//!
//! Source: redisson/redisson 4.7.0, recorded on a server under MONITOR; the scripts are our own.

mod fair;
mod hold_value;
mod latched_release;
mod mutex;
mod names;
mod read_write;
mod replies;

pub use fair::Fair;
pub use mutex::{Kind, Mutex};
pub use read_write::ReadWrite;
