//! What is wrong with a key that is a lock, or may become wrong.

use std::fmt;
use std::time::Duration;

use super::reader::{Reaction, Reader};
use super::sight::Sight;
use super::writer::Writer;
use crate::wire::{Ttl, UnixTime};

/// What is wrong with a key, or may become wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hazard {
    /// It is no string.
    OtherType {
        /// Its type.
        kind: String,
    },
    /// It is a hash or a sorted set with more in it than is fetched: it may be a lock, or anything else.
    TooLarge,
    /// It has expired, and is still there: its holder has died, or works on without it.
    Abandoned {
        /// For how long; `None` where neither its stamp nor its TTL says when it expired.
        since: Option<Duration>,
    },
    /// It has no TTL: Redis will never remove it. These never read the value as expired, and so wait for ever if its
    /// holder dies.
    NoTtl {
        /// Who waits for ever.
        stuck: Vec<String>,
    },
    /// The TTL ends long after the stamp: clients that do not read stamps wait for the TTL.
    OutlivesStamp {
        /// By how much.
        by: Duration,
    },
    /// The TTL ends long before the stamp: the key goes while its holder may still work.
    EndsBeforeStamp {
        /// By how much.
        by: Duration,
    },
    /// It is held, and some would take it all the same, because they read the value as expired.
    TakenWhileHeld {
        /// Who would.
        by: Vec<String>,
    },
    /// The clocks of this machine and of the server are apart: what is expired here may not be there.
    ClocksApart {
        /// By how much.
        by: Duration,
        /// Whether this machine's clock is the later one.
        ahead: bool,
    },
}

/// How severe a hazard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// It is so by design, or will pass.
    Notable,
    /// Some client will wait longer than it should.
    Delays,
    /// Some client may wait for ever.
    Blocks,
    /// Two may hold the lock at once.
    Breaks,
}

/// How far a stamp and a TTL may be apart by margins, rounding and the way between client and server.
const ROUNDING: Duration = Duration::from_secs(5);
/// How much longer a key may live than its stamp says: some clear it away later on purpose.
const TIDYING: Duration = Duration::from_secs(600);
/// How far clocks may be apart before it shows in a lock that counts in seconds.
const SKEW: Duration = Duration::from_secs(1);

impl Hazard {
    /// All of them, where the key is no string: a lock of its own kind, or none; with or without others that would keep a
    /// string there.
    pub(super) fn of_other_type(sight: &Sight, writers: &[Writer], keeps_string: bool) -> Vec<Self> {
        let is_lock = !writers.is_empty();
        let too_large = sight.is_too_large.then_some(Self::TooLarge);
        let strange =
            (keeps_string || !is_lock && too_large.is_none()).then(|| Self::OtherType { kind: sight.kind.clone() });
        // Such a lock can stay for ever too: no protocol reads when it expires.
        let own = || writers.iter().map(|writer| writer.member.name().to_owned()).collect();
        let no_ttl = (is_lock && sight.ttl == Ttl::NO_EXPIRY).then(|| Self::NoTtl { stuck: own() });
        strange.into_iter().chain(too_large).chain(no_ttl).collect()
    }

    /// All of them, where the key is a string: the gravest first.
    pub(super) fn all(
        sight: &Sight,
        writers: &[Writer],
        readers: &[Reader],
        ends_at: Option<UnixTime>,
        is_expired: Option<bool>,
    ) -> Vec<Self> {
        let of_lock = match is_expired {
            // It is not a lock: nothing about it can go wrong.
            None => return Vec::new(),
            Some(true) => Some(Self::Abandoned {
                since: ends_at.filter(|end| *end <= sight.at).map(|ended| sight.at.saturating_since(ended)),
            }),
            Some(false) => Self::of_strangers(writers, readers),
        };
        let clocks = sight.server_at.and_then(|server_at| Self::of_clocks(sight.at, server_at));
        let rest = [Self::of_no_ttl(sight, readers), Self::of_ttl(sight, ends_at), clocks];
        of_lock.into_iter().chain(rest.into_iter().flatten()).collect()
    }

    /// How grave it is.
    pub fn severity(&self) -> Severity {
        match self {
            Self::TakenWhileHeld { .. } | Self::EndsBeforeStamp { .. } => Severity::Breaks,
            Self::OtherType { .. } => Severity::Blocks,
            Self::NoTtl { stuck } if !stuck.is_empty() => Severity::Blocks,
            Self::OutlivesStamp { .. } | Self::ClocksApart { .. } => Severity::Delays,
            Self::TooLarge | Self::Abandoned { .. } | Self::NoTtl { .. } => Severity::Notable,
        }
    }

    /// Its name, for programs and for counting: `no-ttl`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::OtherType { .. } => "other-type",
            Self::TooLarge => "too-large",
            Self::Abandoned { .. } => "abandoned",
            Self::NoTtl { .. } => "no-ttl",
            Self::OutlivesStamp { .. } => "outlives-stamp",
            Self::EndsBeforeStamp { .. } => "ends-before-stamp",
            Self::TakenWhileHeld { .. } => "taken-while-held",
            Self::ClocksApart { .. } => "clocks-apart",
        }
    }

    /// Whether others than its own kind would take it while it is held.
    fn of_strangers(writers: &[Writer], readers: &[Reader]) -> Option<Self> {
        let is_own = |reader: &Reader| writers.iter().any(|writer| writer.member == reader.member);
        let by = names(readers, |reader| reader.now == Reaction::Take && !is_own(reader));
        (!by.is_empty()).then_some(Self::TakenWhileHeld { by })
    }

    fn of_no_ttl(sight: &Sight, readers: &[Reader]) -> Option<Self> {
        let stuck = || names(readers, |reader| reader.at_last != Reaction::Take);
        (sight.ttl == Ttl::NO_EXPIRY).then(|| Self::NoTtl { stuck: stuck() })
    }

    /// Whether stamp and TTL disagree.
    fn of_ttl(sight: &Sight, ends_at: Option<UnixTime>) -> Option<Self> {
        let (stamp, deleted) = (ends_at?, sight.at.saturating_add(sight.ttl.left_of_millis()?));
        let (late, early) = (deleted.saturating_since(stamp), stamp.saturating_since(deleted));
        match () {
            () if late > TIDYING => Some(Self::OutlivesStamp { by: late }),
            () if early > ROUNDING => Some(Self::EndsBeforeStamp { by: early }),
            () => None,
        }
    }

    /// Whether the clock of this machine and that of the server, read at the same moment, are too far apart for locks that
    /// count in seconds.
    pub(crate) fn of_clocks(at: UnixTime, server_at: UnixTime) -> Option<Self> {
        let (ahead, behind) = (at.saturating_since(server_at), server_at.saturating_since(at));
        let by = ahead.max(behind);
        (by > SKEW).then_some(Self::ClocksApart { by, ahead: ahead > behind })
    }
}

impl fmt::Display for Hazard {
    /// One sentence without a full stop.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherType { kind } => write!(f, "it is a {kind}: every lock that keeps a string here fails"),
            Self::TooLarge => f.write_str("it is too large to be looked at: whether it is a lock is not known"),
            Self::Abandoned { since } => {
                let ended =
                    since.map_or_else(|| "has expired".to_owned(), |since| format!("ended {} ago", rough(since)));
                write!(f, "it {ended} and is still there: its holder died, or works on without it")
            }
            Self::NoTtl { stuck } if stuck.is_empty() => f.write_str("it has no TTL: Redis never removes it"),
            Self::NoTtl { stuck } => {
                write!(f, "it has no TTL: if its holder dies, {} will never get past it", list(stuck))
            }
            Self::OutlivesStamp { by } => {
                write!(f, "its TTL ends {} after its stamp: clients that read no stamps wait that long", rough(*by))
            }
            Self::EndsBeforeStamp { by } => {
                write!(f, "its TTL ends {} before its stamp: it goes while its holder may still work", rough(*by))
            }
            Self::TakenWhileHeld { by } => {
                write!(f, "it is held, but reads as expired to {}, which would take it", list(by))
            }
            Self::ClocksApart { by, ahead } => {
                let direction = if *ahead { "ahead of" } else { "behind" };
                write!(f, "this machine's clock is {} {direction} the server's", rough(*by))
            }
        }
    }
}

/// Which protocols do that; the modern ones first, because fleets move towards them.
fn names(readers: &[Reader], does: impl Fn(&Reader) -> bool) -> Vec<String> {
    let (modern, legacy): (Vec<&Reader>, Vec<&Reader>) =
        readers.iter().filter(|reader| does(reader)).partition(|reader| reader.member.protocol().dialect().is_none());
    modern.into_iter().chain(legacy).map(|reader| reader.member.name().to_owned()).collect()
}

/// The first names, and how many more there are.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 4;
    match names.len() {
        0..=SHOWN => names.join(", "),
        all => format!("{} and {} more", names[..SHOWN - 1].join(", "), all - (SHOWN - 1)),
    }
}

/// A length of time in its largest unit.
fn rough(length: Duration) -> String {
    let secs = length.as_secs();
    match secs {
        0 => format!("{} ms", length.as_millis()),
        1..=119 => format!("{secs} s"),
        120..=7_199 => format!("{} min", secs / 60),
        7_200..=172_799 => format!("{} h", secs / 3_600),
        172_800..=63_071_999 => format!("{} days", secs / 86_400),
        63_072_000.. => format!("{} years", secs / 31_536_000),
    }
}
