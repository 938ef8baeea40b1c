//! The command that publishes a release notification.

use lockshift_lock::ReleaseChannel;
use lockshift_wire::Key;

/// The command that publishes a release notification, which also decides how waiters subscribe. Clients must agree on it:
/// otherwise they do not wake each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Publish {
    /// PUBLISH: everywhere but in a cluster, and before Redisson 3.22 there too.
    #[default]
    Everywhere,
    /// SPUBLISH: in a cluster of Redis 7 and later.
    InSlot,
}

impl Publish {
    /// The command's name.
    pub(crate) fn command(self) -> &'static [u8] {
        match self {
            Self::Everywhere => b"PUBLISH",
            Self::InSlot => b"SPUBLISH",
        }
    }

    /// The release channel of this name.
    pub(crate) fn release_channel(self, channel: &Key) -> ReleaseChannel {
        ReleaseChannel { channel: channel.as_bytes().to_vec(), sharded: self == Self::InSlot }
    }
}
