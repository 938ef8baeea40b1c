//! How a release is announced to those who wait.

use lockshift_lock::Bell;
use lockshift_wire::Key;

/// How a release is announced to those who wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Announce {
    /// `PUBLISH`: to the whole server. A cluster hands it on to each of its nodes.
    Publish,
    /// `SPUBLISH`, Redis 7: to the node that has the key, and its replicas.
    SPublish,
}

impl Announce {
    /// The command, as the scripts are told it.
    pub(crate) fn command(self) -> &'static [u8] {
        match self {
            Self::Publish => b"publish",
            Self::SPublish => b"spublish",
        }
    }

    /// The bell of this channel.
    pub(crate) fn bell(self, channel: &Key) -> Bell {
        Bell { channel: channel.as_bytes().to_vec(), sharded: self == Self::SPublish }
    }
}
