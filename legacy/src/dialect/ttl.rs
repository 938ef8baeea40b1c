//! Which TTL the key is given, and when.

use core::fmt;
use core::time::Duration;

/// Which TTL command follows each way a claim can go. None of it is part of the claim: a client that dies in between
/// leaves a key without a TTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ttl {
    /// After a claim that found the lock free.
    pub claimed: Lifetime,
    /// After a takeover that won. Where that is a transaction, inside it. GETSET and SET have dropped what TTL there was.
    pub taken: Lifetime,
    /// After a claim that found a lock: it prolongs the holder's.
    pub refused: Lifetime,
    /// Whether a claim that won is followed by `SETEX key lease value` with a new stamp: a renewal thread that begins at
    /// once, even if another client holds the lock by then.
    pub then_setex: bool,
}

/// One TTL command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lifetime {
    /// None.
    None,
    /// `EXPIRE key lease`, whole seconds, rounded up.
    Expire,
    /// `PEXPIRE key lease` in milliseconds.
    Pexpire,
    /// `EXPIREAT key stamp+later`: some time after the stamp, to clear the key away.
    ExpireAt {
        /// By how many seconds after the stamp.
        later_secs: u32,
    },
    /// `EXPIRE key stamp`: the moment where a length belongs, which makes a TTL of decades.
    ExpireByMoment,
    /// `EXPIRE key lease` with the lease in milliseconds where seconds belong: a thousand leases.
    ExpireByMillis,
}

impl Ttl {
    /// No TTL at all.
    pub const NONE: Self =
        Self { claimed: Lifetime::None, taken: Lifetime::None, refused: Lifetime::None, then_setex: false };

    /// The same after a claim and after a takeover.
    pub const fn when_won(lifetime: Lifetime) -> Self {
        Self { claimed: lifetime, taken: lifetime, ..Self::NONE }
    }

    /// Whether a lock that is held ordinarily has a TTL.
    pub fn is_set(&self) -> bool {
        self.claimed != Lifetime::None
    }
}

impl Lifetime {
    /// How long an extended lock shall live beyond the end of its lease.
    pub(crate) fn beyond(self) -> Duration {
        match self {
            Self::ExpireAt { later_secs } => Duration::from_secs(later_secs.into()),
            Self::None | Self::Expire | Self::Pexpire | Self::ExpireByMoment | Self::ExpireByMillis => Duration::ZERO,
        }
    }
}

impl fmt::Display for Ttl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moments = [("claimed", self.claimed), ("taken", self.taken), ("refused", self.refused)];
        let mut comma = "";
        for (moment, lifetime) in moments.into_iter().filter(|(_, lifetime)| *lifetime != Lifetime::None) {
            write!(f, "{comma}{lifetime} when {moment}")?;
            comma = ", ";
        }
        match (comma, self.then_setex) {
            ("", false) => f.write_str("none"),
            (_, false) => Ok(()),
            (comma, true) => write!(f, "{comma}SETEX after the claim"),
        }
    }
}

impl fmt::Display for Lifetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Expire => f.write_str("EXPIRE"),
            Self::Pexpire => f.write_str("PEXPIRE"),
            Self::ExpireAt { later_secs } => write!(f, "EXPIREAT stamp + {later_secs} s"),
            Self::ExpireByMoment => f.write_str("EXPIRE of the stamp"),
            Self::ExpireByMillis => f.write_str("EXPIRE of the lease in ms"),
        }
    }
}
