//! Which rules a phase is explored for.

use crate::explore::Property;

/// The rules that concern clients that share a lock, in the order in which a plan names them.
pub const RULES: [Property; 6] = [
    Property::MutualExclusion,
    Property::ReaderExcludesWriter,
    Property::LeaseHonoured,
    Property::ReleasesOnlyOwn,
    Property::TruthfulOutcome,
    Property::CanBeTakenAgain,
];
