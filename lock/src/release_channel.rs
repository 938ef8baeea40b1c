//! Where waiters listen for a release.

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
