//! The wire dialects that remain once implementations with the same encoding and the same moves are put together.

use core::fmt;

/// A wire dialect: what is left of the implementations when those that differ in detail only are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Family {
    /// Seconds; a takeover wins if the old stamp is still expired. The Redis SETNX page.
    S1,
    /// Seconds; a takeover wins if the old value is the one read before.
    S2,
    /// Seconds; as S1, but no key counts as expired, and an EXPIRE follows. The PHP article.
    S3,
    /// Float seconds; a takeover wins if the old stamp is still expired.
    F1,
    /// Float seconds; a takeover wins if the old value is the one read before.
    F2,
    /// Float seconds; taken in a transaction.
    F3,
    /// Milliseconds; a takeover wins if the old value is the one read before.
    M1,
    /// Milliseconds; a takeover wins if the old stamp is still expired.
    M2,
    /// Milliseconds; taken over in a transaction.
    M3,
    /// Milliseconds, written by SET NX PX and never looked at.
    M4,
    /// Nanoseconds; equality.
    N1,
    /// Milliseconds as eight bytes, big-endian; equality. The Java article.
    B1,
    /// Seconds as eight bytes, little-endian; taken over in a transaction.
    B2,
    /// Seconds with the owner behind them.
    X1,
    /// Milliseconds with the owner before them.
    X2,
    /// Seconds and the owner as JSON.
    J1,
    /// .NET ticks, or the machine's uptime.
    T1,
    /// Seconds, taken over by a plain SET.
    W1,
    /// Seconds, by GETSET alone.
    G1,
    /// The moment of acquisition instead of that of expiry.
    A1,
    /// Two keys: the owner, and the expiry in seconds.
    K2,
    /// The successors: no stamp, the TTL decides.
    E0,
    /// The ancestors that articles begin with: no stamp, and not always a TTL.
    N0,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The language that an implementation is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Language {
    /// None: prose, or pseudo code.
    Prose,
    /// PHP.
    Php,
    /// Java.
    Java,
    /// Ruby.
    Ruby,
    /// Python.
    Python,
    /// JavaScript on Node.
    Node,
    /// C#.
    CSharp,
    /// Go.
    Go,
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Prose => "prose",
            Self::Php => "PHP",
            Self::Java => "Java",
            Self::Ruby => "Ruby",
            Self::Python => "Python",
            Self::Node => "Node",
            Self::CSharp => "C#",
            Self::Go => "Go",
        })
    }
}
