//! The rules that can be looked for, by the names that one types.

use clap::ValueEnum;

use crate::explore::Property;

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Rule {
    /// No two clients believe at once to hold the lock
    MutualExclusion,
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
}

impl Rule {
    /// Those that can be judged.
    pub(super) fn all(for_all_time: bool) -> Vec<Self> {
        let can_be_judged = |rule: &&Self| for_all_time || !rule.property().is_about_the_future();
        Self::value_variants().iter().filter(can_be_judged).copied().collect()
    }

    /// What it means.
    pub(super) fn property(self) -> Property {
        match self {
            Self::MutualExclusion => Property::MutualExclusion,
            Self::LeaseHonoured => Property::LeaseHonoured,
            Self::ReleasesOnlyOwn => Property::ReleasesOnlyOwn,
            Self::TruthfulOutcome => Property::TruthfulOutcome,
            Self::CanBeTakenAgain => Property::CanBeTakenAgain,
            Self::NobodyShutOut => Property::NobodyShutOut,
        }
    }
}

/// How a rule is typed.
pub(super) fn name(property: Property) -> String {
    let value =
        Rule::value_variants().iter().find(|rule| rule.property() == property).and_then(Rule::to_possible_value);
    value.map_or_else(|| property.to_string(), |value| value.get_name().to_owned())
}
