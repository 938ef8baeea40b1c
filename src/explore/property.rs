//! What must never happen, by name.

use std::fmt;

/// What must never happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "cli", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Property {
    /// No two clients believe at once to hold the same lock. A client believes so from the reply by which it learns that it
    /// has won until its lease ends or it begins to release; one that does not heed its lease, until it begins to release.
    MutualExclusion,
    /// No client believes to write while another believes to read.
    ReaderExcludesWriter,
    /// While a winner's lease runs, the server says that the lock is the winner's.
    LeaseHonoured,
    /// No release takes away a lock that another client has and whose lease is running.
    ReleasesOnlyOwn,
    /// A win or an extension reported is one on the server; a release that reports a lock freed has touched its key,
    /// and one that reports it lost did not have it.
    TruthfulOutcome,
    /// When no operation is under way and no client holds, a newcomer acquires, after a tick at the latest.
    NoPhantom,
    /// A guarded resource accepts no write from a holder after a later holder's write.
    NoStaleWrite,
    /// A try that ends in vain has asked the server.
    TriesAsAsked,
    /// Some continuation always exists in which one of the clients that want the lock acquires it.
    CanBeTakenAgain,
    /// For each client that wants the lock, some continuation always exists in which it acquires.
    NobodyShutOut,
    /// In every weakly fair schedule without end, each client that wants the lock acquires it. A schedule is weakly fair if the clock
    /// ticks again and again, and every client that has neither ended nor crashed takes a step again and again.
    EveryWaiterAcquires,
}

impl Property {
    /// Every property.
    pub const ALL: [Self; 11] = [
        Self::MutualExclusion,
        Self::ReaderExcludesWriter,
        Self::LeaseHonoured,
        Self::ReleasesOnlyOwn,
        Self::TruthfulOutcome,
        Self::NoPhantom,
        Self::NoStaleWrite,
        Self::TriesAsAsked,
        Self::CanBeTakenAgain,
        Self::NobodyShutOut,
        Self::EveryWaiterAcquires,
    ];

    /// Its name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MutualExclusion => "mutual exclusion",
            Self::ReaderExcludesWriter => "reader excludes writer",
            Self::LeaseHonoured => "lease honoured as written",
            Self::ReleasesOnlyOwn => "removes only one's own",
            Self::TruthfulOutcome => "truthful outcome",
            Self::NoPhantom => "no phantom",
            Self::NoStaleWrite => "fenced resource accepts no stale token",
            Self::TriesAsAsked => "tries as asked",
            Self::CanBeTakenAgain => "can be taken again",
            Self::NobodyShutOut => "nobody is shut out",
            Self::EveryWaiterAcquires => "every waiter acquires",
        }
    }

    /// Whether it asks what can follow a world in the end, and so for the whole space.
    pub const fn is_about_the_future(self) -> bool {
        matches!(self, Self::CanBeTakenAgain | Self::NobodyShutOut | Self::EveryWaiterAcquires)
    }

    /// Whether it asks the server if what a client holds is that client's.
    pub(super) const fn is_about_holds(self) -> bool {
        matches!(self, Self::LeaseHonoured | Self::ReleasesOnlyOwn | Self::TruthfulOutcome | Self::NoPhantom)
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Some of the properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Properties(u16);

impl Properties {
    /// These.
    pub fn of(properties: &[Property]) -> Self {
        properties.iter().fold(Self::default(), |all, property| all.with(*property))
    }

    /// These and one more.
    #[must_use]
    pub const fn with(self, property: Property) -> Self {
        Self(self.0 | 1 << property as u16)
    }

    /// These without one.
    #[must_use]
    pub const fn without(self, property: Property) -> Self {
        Self(self.0 & !(1 << property as u16))
    }

    /// Whether it is among them.
    pub const fn has(self, property: Property) -> bool {
        self.0 & 1 << property as u16 != 0
    }

    /// Whether it holds no property.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Property> {
        Property::ALL.into_iter().filter(move |property| self.has(*property))
    }
}
