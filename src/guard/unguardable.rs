//! Why a dialect cannot be guarded.

use thiserror::Error;

use crate::bridge::Unbridgeable;

/// Why a dialect cannot be guarded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unguardable {
    /// No protocol was named.
    #[error("no protocol is named")]
    NoProtocol,
    /// It is not an old dialect: its clients are safe, or decide by a script.
    #[error("it is not an old dialect")]
    NotOld,
    /// Its value does not contain the end of its lease, so the guard cannot know how long the client relies on the lock.
    #[error("the values of {0} do not say when a lease ends")]
    NoStamp(&'static str),
    /// Its value contains the moment of acquisition, and the length of the lease is known to its clients alone.
    #[error("the values of {0} say when the lock was acquired and not when its lease ends")]
    AcquisitionTime(&'static str),
    /// Its stamps count the uptime of the machine that wrote them.
    #[error("{0} counts the uptime of its own machine")]
    Uptime(&'static str),
    /// Its owner and its stamp are in two keys, and no script may use both in a cluster.
    #[error("{0} keeps owner and stamp in two keys")]
    TwoKeys(&'static str),
    /// No reply to this command makes its client acquire the lock at any clock, without writing anything more.
    #[error("no reply to {command} makes {dialect} acquire at every clock")]
    CannotWin {
        /// The dialect.
        dialect: &'static str,
        /// The name of the command.
        command: String,
    },
    /// No reply to this command makes its client believe at any clock that another client holds the lock.
    #[error("no reply to {command} keeps {dialect} from acquiring at every clock")]
    CannotLose {
        /// The dialect.
        dialect: &'static str,
        /// The name of the command.
        command: String,
    },
    /// The only stamps that the guard can tell from those of its clients are so far in the future that they must expire
    /// with their key, and its keys are to have no time to live.
    #[error("a stamp that {0} respects and does not write expires only with its key: leave out `no-ttl`")]
    NeedsTtl(&'static str),
    /// In bridge mode the guard holds the new key as a bridge does, and a bridge's keys expire.
    #[error("a bridge holds keys with a time to live: leave out `no-ttl`, or choose the mode `protect`")]
    BridgeNeedsTtl,
    /// The protocols of one rule share a key, and no stamp keeps all of them out.
    #[error(transparent)]
    NoCommonStamp(#[from] Unbridgeable),
}
