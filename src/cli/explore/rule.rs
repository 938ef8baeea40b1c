//! The rules that can be looked for, by the names that one types.

use clap::ValueEnum;

use crate::explore::Property;

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum RuleName {
    /// No two clients believe at once to hold the lock, each until its lease ends
    MutualExclusion,
    /// No two clients work at once, each until it releases, however late; alone
    WorkExcludes,
    /// While a winner's lease runs, the server says that the lock is the winner's
    LeaseHonoured,
    /// No release takes away another's lock whose lease is running
    ReleasesOnlyOwn,
    /// What an operation reports is so on the server
    TruthfulOutcome,
    /// One of the clients that want the lock can still get it; with --ticks forever
    CanBeTakenAgain,
    /// Each of the clients that want the lock can still get it; with --ticks forever
    NobodyShutOut,
    /// Each of the clients that want the lock gets it in the end, if every client goes on; with --ticks forever; alone
    EveryWaiterAcquires,
}

impl RuleName {
    /// Those that are looked for if none is named.
    pub(super) fn usual(for_all_time: bool) -> Vec<Self> {
        let is_usual = |rule: &&Self| !rule.has_clients_of_its_own() && rule.can_be_judged(for_all_time);
        Self::value_variants().iter().filter(is_usual).copied().collect()
    }

    /// Whether a search can judge it.
    pub(super) fn can_be_judged(self, for_all_time: bool) -> bool {
        for_all_time || !self.property().is_about_the_future()
    }

    /// Whether it is asked of clients with another program than those of the other rules, and so in a search of its own.
    pub(super) fn has_clients_of_its_own(self) -> bool {
        matches!(self, Self::WorkExcludes | Self::EveryWaiterAcquires)
    }

    /// What it means.
    pub(super) fn property(self) -> Property {
        match self {
            Self::MutualExclusion | Self::WorkExcludes => Property::MutualExclusion,
            Self::LeaseHonoured => Property::LeaseHonoured,
            Self::ReleasesOnlyOwn => Property::ReleasesOnlyOwn,
            Self::TruthfulOutcome => Property::TruthfulOutcome,
            Self::CanBeTakenAgain => Property::CanBeTakenAgain,
            Self::NobodyShutOut => Property::NobodyShutOut,
            Self::EveryWaiterAcquires => Property::EveryWaiterAcquires,
        }
    }
}

/// How a rule is typed.
pub(super) fn name(property: Property) -> String {
    let value = RuleName::value_variants()
        .iter()
        .find(|rule| rule.property() == property)
        .and_then(RuleName::to_possible_value);
    value.map_or_else(|| property.to_string(), |value| value.get_name().to_owned())
}
