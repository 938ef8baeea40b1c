//! How an expired lock is taken over, and how the client learns whether it was the first.

use core::fmt;

use crate::Reader;

/// How an expired lock is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Takeover {
    /// It is not: the lock stays until its TTL, or for ever.
    Never,
    /// `GETSET key value`; the old value decides.
    Getset(Verdict),
    /// `MULTI`, `SET key value` (and what TTL there is), `EXEC`, under the WATCH of the look; wins if no other client touched
    /// the key.
    WatchedSet,
    /// `DEL key`, then `SETNX key value`: two takers can each delete the other's.
    DelThenSetnx,
    /// `SET key value`, and wins.
    Set,
    /// `SET key value PX lease`, and wins.
    SetPx,
    /// `SETEX key lease value`, and wins.
    Setex,
    /// The client fails with an error before it can: redis_getlock misspells a variable.
    Raises,
    /// Nothing is sent: a client that finds an expired lock takes it for its own.
    WithoutWriting,
}

/// Which value is written after the first claim of an attempt was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Candidate {
    /// The one of its failed claim.
    Same,
    /// A new one, made of the clock as it is now.
    Fresh,
    /// The very value that it has read: the PHP article's loop assigns the GET to the variable that it then SETNXes.
    AsRead,
}

/// What the old value, as GETSET returns it, must be for the taker to win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Verdict {
    /// What it must be.
    pub rule: Rule,
    /// What is made of no old value: the key has vanished between GET and GETSET.
    pub old_nil: OldNil,
}

/// What the old value must be for the taker to win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Still expired, by the same test as before.
    StillExpired,
    /// The bytes that GET has returned.
    SameBytes,
    /// The number that GET has returned, each read its own way: in `result == parseFloat(first)`, the old value becomes
    /// a number by other rules than the first. If one of them is not a number, the bytes must be the same.
    SameNumber {
        /// How GET's value becomes a number.
        first: Reader,
        /// How GETSET's does.
        old: Reader,
    },
    /// A number not above the one that GET has returned, where nil is 0.
    NotAboveRead,
    /// A number below the one just written.
    BelowOwn(Reader),
}

/// What a taker makes of a GETSET that returns nil. It has written its value in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OldNil {
    /// It wins.
    Wins,
    /// It loses.
    Loses,
    /// It wins if GET had found nothing either.
    WinsIfAlsoRead,
    /// It gives up with an error.
    Raises,
}

/// What the loser of a takeover does about the value it has overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loser {
    /// Nothing: its own stamp stays in the winner's lock.
    LeavesItsStamp,
    /// `SET key old`.
    WritesBack,
}

impl Verdict {
    /// The Redis SETNX page: wins if the old stamp is still expired; nil counts as that.
    pub const STILL_EXPIRED: Self = Self { rule: Rule::StillExpired, old_nil: OldNil::Wins };
    /// jedis-lock and many others: wins if the old value equals the first read; nil never does.
    pub const SAME_BYTES: Self = Self { rule: Rule::SameBytes, old_nil: OldNil::Loses };
}

impl fmt::Display for Takeover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::Getset(verdict) => write!(f, "GETSET, {verdict}"),
            Self::WatchedSet => f.write_str("MULTI SET EXEC under WATCH"),
            Self::DelThenSetnx => f.write_str("DEL, SETNX"),
            Self::Set => f.write_str("SET"),
            Self::SetPx => f.write_str("SET PX"),
            Self::Setex => f.write_str("SETEX"),
            Self::Raises => f.write_str("fails with an error"),
            Self::WithoutWriting => f.write_str("nothing is written"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rule {
            Rule::StillExpired => f.write_str("wins if the old is still expired")?,
            Rule::SameBytes => f.write_str("wins if the old is what was read")?,
            Rule::SameNumber { first, old } if first == old => {
                write!(f, "wins if the old is the number that was read, both by {old}")?;
            }
            Rule::SameNumber { first, old } => {
                write!(f, "wins if the old by {old} is the number that was read by {first}")?;
            }
            Rule::NotAboveRead => f.write_str("wins if the old is not above what was read")?,
            Rule::BelowOwn(reader) => write!(f, "wins if the old by {reader} is below the new")?,
        }
        f.write_str(match self.old_nil {
            OldNil::Wins => ", nil wins",
            OldNil::Loses => ", nil loses",
            OldNil::WinsIfAlsoRead => ", nil wins if nil was read",
            OldNil::Raises => ", nil raises",
        })
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Same => "the value of the claim",
            Self::Fresh => "a new value",
            Self::AsRead => "the value that was read",
        })
    }
}
