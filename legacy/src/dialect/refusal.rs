//! What a client library makes of an error reply.

use core::fmt;

/// What a client makes of an error reply to GET or GETSET, such as WRONGTYPE where the key is not a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnError {
    /// It is `false`, as for a missing value: phpredis, for WRONGTYPE and ERR. A key of another type then looks expired.
    False,
    /// It is raised, and the try ends with it.
    Raises,
    /// The client tries again later: the callback's `if(err) return retry()`.
    Retries,
}

impl OnError {
    /// The errors that a client takes so: those that come of what stands in the key. READONLY, OOM and the like are
    /// raised by every library.
    pub(crate) fn concerns(code: &str) -> bool {
        matches!(code, "WRONGTYPE" | "ERR")
    }
}

impl fmt::Display for OnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::False => "false, as nil",
            Self::Raises => "raised",
            Self::Retries => "tried again",
        })
    }
}
