//! The locks of Redisson, on the wire as Redisson 4 has them: a fleet may mix its clients with ours on one key.
//!
//! A lock is a hash: a field for each owner, `<uuid>:<thread>`, and in it how often the owner has entered. A lock ends with
//! the hash's time to live. A release is announced on a channel, and a key of its own, the *latch*, keeps its answer, so
//! that the same release, sent twice, counts once. What Redisson adds around that is policy, and not here: to wait for
//! the channel ([`Locker::bell`](lockshift_lock::Locker::bell)), to renew every third of the lease, and WAIT behind every
//! command where there are replicas.
//!
//! [`Mutex`] is `getLock`, `getFencedLock`, `getSpinLock` and `getNonReentrantLock`, [`ReadWrite`] one side of
//! `getReadWriteLock`, [`Fair`] is `getFairLock` and `getNonReentrantFairLock`. Only one kind may be used on a name: their
//! waiters listen on different channels.
//!
//! A thread that has entered and whose next reply is lost cannot tell whether it has entered once more; nothing is taken
//! back then, and the lease ends the lock.
//!
//! Source: redisson/redisson 4.7.0, recorded on a server under MONITOR; the scripts are our own.

mod answers;
mod fair;
mod giving_back;
mod mark;
mod mutex;
mod names;

mod read_write;

pub use fair::Fair;
pub use mutex::{Kind, Mutex};

pub use read_write::ReadWrite;
