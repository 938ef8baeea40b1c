//! Where waiters listen for a release, and what the refusal of one says about the others there.

use alloc::vec::Vec;

/// A channel on which a release is announced. Every message there makes a waiter try again, unless it
/// [hands the lock over](crate::Locker::granted).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReleaseChannel {
    /// The name of the channel.
    pub channel: Vec<u8>,
    /// Whether the channel belongs to its hash slot (SSUBSCRIBE) or to the whole server or cluster (SUBSCRIBE).
    pub sharded: bool,
}

/// What the refusal of one waiter says about the others on its [`ReleaseChannel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalScope {
    /// All of them are refused meanwhile, if this is so for their protocols too: the lock has one holder at a time, and
    /// needs no key but that of the channel. The waiters of a program can take turns, and one attempt speaks for all.
    AllWaiters,
    /// All that have a place in the queue of the lock are refused meanwhile. An attempt that is refused though the lock is free
    /// notifies the first of the queue, so that one attempt speaks for all that have a place: none of them misses a
    /// notification that was sent before.
    QueuedWaiters,
    /// Another one may be let in, because holders share the lock or enter it again. The release that woke this waiter is
    /// used up: the lock is held.
    OneWaiter,
    /// The key of the channel may be free all the same, because the lock needs others as well: the release that woke this
    /// waiter may serve the next one.
    OtherKeys,
}
