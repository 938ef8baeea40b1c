//! How the value in the key is judged when the lock is not free.

use core::fmt;
use core::time::Duration;

use crate::{Comparison, Number, Reader};

/// How a client judges what it finds in the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Look {
    /// Whether it looks before its claim or only after that was refused.
    pub order: LookOrder,
    /// How it learns whether there is a value.
    pub presence: Presence,
    /// Whether the key is under WATCH meanwhile.
    pub watch: Watch,
    /// What counts as no value at all.
    pub absent: Absent,
    /// What it does if there is no value: the lock was released after the claim was refused.
    pub missing: Missing,
    /// How its language gets from the bytes to a comparison with now.
    pub reader: Reader,
    /// When its clock is read for that.
    pub judged: Judged,
    /// Which outcome of the comparison means expired.
    pub test: Test,
    /// By how much a stamp must be older than the clock says before it counts as expired.
    pub slack: Duration,
    /// What it makes of a value that its language cannot read.
    pub unreadable: Unreadable,
    /// Whether a value with its own owner in it counts as free (jedis-lock 2015, `isExpiredOrMine`).
    pub mine_is_free: bool,
    /// What it does if the lock is live.
    pub live: Live,
}

/// Whether a client looks before its claim or only after that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LookOrder {
    /// The claim first; the look explains its refusal.
    ClaimFirst,
    /// The look first; the claim follows where no value was found.
    LookFirst,
}

/// How a client learns whether there is a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Presence {
    /// GET tells.
    Get,
    /// EXISTS tells, and GET follows only if there is a key.
    ExistsThenGet,
}

/// Whether the key is watched while it is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Watch {
    /// No.
    No,
    /// WATCH before the GET, and UNWATCH if the lock is not taken.
    Yes,
    /// WATCH before the GET, and nothing to end it: the connection keeps watching until its next EXEC.
    NeverEnded,
}

/// What counts as no value at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Absent {
    /// Nil.
    Nil,
    /// Nil, and the empty string, where the language calls that false.
    NilOrEmpty,
}

/// What a client does when GET finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Missing {
    /// Begins again with its claim, at once, as often as it takes. If it looks before its claim, only the claim is
    /// sent again.
    ClaimAgain,
    /// Sends its claim once more, and gives up if that fails.
    ClaimOnce,
    /// Ends the attempt.
    GiveUp,
    /// Goes on as if it had found an expired stamp. With GETSET, this overwrites the value of a client that has
    /// acquired the free lock meanwhile.
    Expired,
    /// Ends the attempt with an error.
    Raises,
}

/// When the clock that a stamp is judged by is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Judged {
    /// Once per attempt, when its own stamp is made.
    AtStart,
    /// Before the value is asked for: `Time.now.to_i > redis.get(key).to_i`.
    BeforeAsking,
    /// When the reply has arrived: `$redis->get($key) < time()`.
    AfterAnswer,
}

/// Which outcome of comparing a stamp with now means expired. The two halves differ for values that compare as neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// Expired if `stamp < now`, else live.
    ExpiredIfBefore,
    /// Expired if `stamp <= now`, else live.
    ExpiredIfNotAfter,
    /// Live if `stamp > now`, else expired.
    LiveIfAfter,
    /// Live if `stamp >= now`, else expired.
    LiveIfNotBefore,
    /// Expired if `stamp < now` and the stamp is not zero, else live: zero is what `to_f` makes of a value without a number.
    ExpiredIfBeforeAndNotZero,
}

/// What a client makes of a value that its language cannot read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unreadable {
    /// It is an expired lock.
    Expired,
    /// It is a lock that is held.
    Live,
    /// The attempt ends with an error.
    Raises,
}

/// What a client does when the lock is live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Live {
    /// Ends the attempt.
    GiveUp,
    /// Sends its claim once more.
    ClaimOnce,
}

/// What a client takes a value for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Looks {
    /// An expired lock.
    Expired,
    /// A live lock.
    Live,
    /// A value that it cannot read: it raises an error.
    Raised,
}

impl Look {
    /// `GET`, then `stamp < now`, with everything else as most have it: judged when the reply has arrived, a missing or a
    /// live lock ends the attempt, and what cannot be read raises.
    pub const fn expired_if_before(reader: Reader) -> Self {
        Self {
            order: LookOrder::ClaimFirst,
            presence: Presence::Get,
            watch: Watch::No,
            absent: Absent::Nil,
            missing: Missing::GiveUp,
            reader,
            judged: Judged::AfterAnswer,
            test: Test::ExpiredIfBefore,
            slack: Duration::ZERO,
            unreadable: Unreadable::Raises,
            mine_is_free: false,
            live: Live::GiveUp,
        }
    }

    /// Judges a value at `now`, the number that the dialect's stamps are compared with.
    pub(crate) fn judge(&self, value: &[u8], now: Number) -> Looks {
        use Comparison::{Equal, Greater, Less, Unordered, Unreadable};
        let expired = match (self.test, self.reader.compare(value, now)) {
            (_, Unreadable) => return self.unreadable.looks(),
            (Test::ExpiredIfBefore, order) => order == Less,
            (Test::ExpiredIfNotAfter, order) => matches!(order, Less | Equal),
            (Test::LiveIfAfter, order) => matches!(order, Less | Equal | Unordered),
            (Test::LiveIfNotBefore, order) => matches!(order, Less | Unordered),
            (Test::ExpiredIfBeforeAndNotZero, Less) => self.reader.compare(value, Number::Int(0)) != Equal,
            (Test::ExpiredIfBeforeAndNotZero, Equal | Greater | Unordered) => false,
        };
        if expired { Looks::Expired } else { Looks::Live }
    }

    /// Whether this reply to GET counts as no value.
    pub(crate) fn is_absent(&self, value: &[u8]) -> bool {
        match self.absent {
            Absent::Nil => false,
            Absent::NilOrEmpty => value.is_empty(),
        }
    }
}

impl Unreadable {
    fn looks(self) -> Looks {
        match self {
            Self::Expired => Looks::Expired,
            Self::Live => Looks::Live,
            Self::Raises => Looks::Raised,
        }
    }
}

impl fmt::Display for Look {
    /// The reader and its test, and then whatever is not the plainest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reader, self.test)?;
        if !self.slack.is_zero() {
            write!(f, ", {:?} of slack", self.slack)?;
        }
        if self.mine_is_free {
            f.write_str(", expired if its own")?;
        }
        write!(f, "; {}", self.unreadable)?;
        write!(f, "; {} {}", self.absent, self.missing)?;
        f.write_str(match self.live {
            Live::GiveUp => "",
            Live::ClaimOnce => "; if live, one more claim",
        })?;
        f.write_str(match self.judged {
            Judged::AtStart => "; clock read once per attempt",
            Judged::BeforeAsking => "; clock read before each command",
            Judged::AfterAnswer => "; clock read after each reply",
        })?;
        f.write_str(match self.order {
            LookOrder::ClaimFirst => "",
            LookOrder::LookFirst => "; before the claim",
        })?;
        f.write_str(match self.presence {
            Presence::Get => "",
            Presence::ExistsThenGet => "; EXISTS before GET",
        })?;
        f.write_str(match self.watch {
            Watch::No => "",
            Watch::Yes => "; under WATCH",
            Watch::NeverEnded => "; under a WATCH that is not ended",
        })
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ExpiredIfBefore => "expired if < now",
            Self::ExpiredIfNotAfter => "expired if <= now",
            Self::LiveIfAfter => "live if > now",
            Self::LiveIfNotBefore => "live if >= now",
            Self::ExpiredIfBeforeAndNotZero => "expired if < now and not 0",
        })
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "unreadable is expired",
            Self::Live => "unreadable is live",
            Self::Raises => "unreadable raises",
        })
    }
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nil => "nil",
            Self::NilOrEmpty => "nil or empty",
        })
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClaimAgain => "claims again",
            Self::ClaimOnce => "claims once more",
            Self::GiveUp => "ends the attempt",
            Self::Expired => "is expired",
            Self::Raises => "raises",
        })
    }
}
