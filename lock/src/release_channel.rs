//! Where those who wait listen for a release.

use alloc::vec::Vec;

/// A channel on which a release is announced. What is announced does not matter: whoever hears anything tries again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReleaseChannel {
    /// The name of the channel.
    pub channel: Vec<u8>,
    /// Whether the channel belongs to its hash slot (SSUBSCRIBE) or to the whole server or cluster (SUBSCRIBE).
    pub sharded: bool,
}
