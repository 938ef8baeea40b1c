//! How a holder extends its lock.

use core::fmt;

/// How a holder of an old client extends its lock, if the client can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refresh {
    /// It cannot.
    Never,
    /// `SET key stamp` with a new stamp, even if another client holds the lock by then.
    Set,
}

impl fmt::Display for Refresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Never => "never",
            Self::Set => "SET of a new stamp, whatever the key holds",
        })
    }
}
