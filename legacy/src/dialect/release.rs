//! How a lock is released.

use core::fmt;
use core::time::Duration;

/// How a holder releases its lock.
///
/// Where a client counts its lease from a clock that it read only after it had won, we count from the clock that its
/// stamp was made of: earlier by one round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Release {
    /// Not at all: the lock lasts until its stamp expires.
    Never,
    /// `DEL key`, even if another client holds it.
    Del,
    /// `DEL` of the key as Java serialisation writes a string, `AC ED 00 05 74 …`: Spring's `redisTemplate.delete(key)`
    /// beside raw `getBytes()` on acquire. It misses the lock. (For names in ASCII.)
    DelSerializedKey,
    /// `DEL key` while the own stamp is ahead of the clock.
    WhileStampAhead {
        /// Whether a stamp equal to now is still ahead.
        or_equal: bool,
        /// How far the stamp may have passed.
        grace: Duration,
    },
    /// `DEL key` while the lease runs, not counting the stamp's margin.
    WithinLease,
    /// `TTL key`, and `DEL key` unless it says 0. -1 and -2 are true in PHP.
    UnlessTtlZero,
    /// `GET key`, and `DEL key` if the value passes.
    IfValue(Check),
    /// `EXISTS key`, `GET key`, and `DEL key` if the value passes.
    IfExistsAndValue(Check),
    /// `GET key`, `GETSET key` with a new stamp, `DEL key`; neither old value may have expired.
    AfterGetset,
    /// `WATCH key`, `GET key`; if the value is the own one `MULTI`, `DEL key`, `EXEC`, else `UNWATCH`.
    IfEqualWatched,
    /// `WATCH key`, `GET key`, `DEL key` if the value is the own one, `UNWATCH`. Without MULTI the WATCH protects
    /// nothing: between GET and DEL the lock can change hands.
    IfEqualUnderWatch,
    /// A Lua script that compares and deletes.
    Script(Script),
}

impl Release {
    /// Whether the server compares the value and deletes the key in one step.
    pub fn compares_in_one_step(self) -> bool {
        match self {
            Self::IfEqualWatched | Self::Script(_) => true,
            Self::Never
            | Self::Del
            | Self::DelSerializedKey
            | Self::WhileStampAhead { .. }
            | Self::WithinLease
            | Self::UnlessTtlZero
            | Self::IfValue(_)
            | Self::IfExistsAndValue(_)
            | Self::AfterGetset
            | Self::IfEqualUnderWatch => false,
        }
    }
}

/// What the value in the key must be before its key is deleted. Between GET and DEL it can change hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Check {
    /// Anything.
    Present,
    /// A stamp ahead of the clock, of any owner.
    Ahead,
    /// The own value.
    Equal,
    /// The own value, and its stamp ahead of the clock.
    EqualAndAhead,
    /// A number not below the own one: redis-py's `existing >= acquired_until`. It passes the next owner's lock, and not
    /// the own one where printing has rounded it down.
    NotBelowOwn,
    /// Not a number that is below the own one and still ahead of the clock: YiiRedis.
    NotShortened,
    /// The same owner's.
    Mine,
    /// The same owner's, and its stamp ahead of the clock.
    MineAndAhead,
}

/// A compare-and-delete script of an article.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Script {
    /// Answers `true` or `false`; run by EVALSHA, and EVAL where the server does not know it. Its client answers nothing.
    JavaToken,
    /// Answers 1 or 0; run by EVALSHA, and EVAL where the server does not know it: `LuaLock` of redis-py.
    RedisPy,
    /// The same by another text: retools.
    Retools,
    /// Answers 1 or 0; always sent by EVAL. Its client says that it has unlocked, whatever the answer is, and so
    /// [`Released::Freed`](lockshift_lock::Released::Freed) is the outcome even of a lock that was lost.
    Jedis,
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("none"),
            Self::Del => f.write_str("DEL"),
            Self::DelSerializedKey => f.write_str("DEL of the Java-serialised key"),
            Self::WhileStampAhead { or_equal, grace } => {
                f.write_str(if *or_equal { "DEL if own stamp >= now" } else { "DEL if own stamp > now" })?;
                if grace.is_zero() { Ok(()) } else { write!(f, " - {grace:?}") }
            }
            Self::WithinLease => f.write_str("DEL within the lease"),
            Self::UnlessTtlZero => f.write_str("TTL, DEL unless it is 0"),
            Self::IfValue(check) => write!(f, "GET, DEL if {check}"),
            Self::IfExistsAndValue(check) => write!(f, "EXISTS, GET, DEL if {check}"),
            Self::AfterGetset => f.write_str("GET, GETSET, DEL"),
            Self::IfEqualWatched => f.write_str("WATCH, GET == own, MULTI DEL EXEC"),
            Self::IfEqualUnderWatch => f.write_str("WATCH, GET, DEL if == own, UNWATCH"),
            Self::Script(Script::JavaToken | Script::RedisPy | Script::Retools) => {
                f.write_str("EVALSHA of GET == own, DEL")
            }
            Self::Script(Script::Jedis) => f.write_str("EVAL of GET == own, DEL; answer ignored"),
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Present => "there is a value",
            Self::Ahead => "> now",
            Self::Equal => "== own",
            Self::EqualAndAhead => "== own and own > now",
            Self::NotBelowOwn => ">= own",
            Self::NotShortened => "not between now and own",
            Self::Mine => "its owner is the own",
            Self::MineAndAhead => "its owner is the own and > now",
        })
    }
}
