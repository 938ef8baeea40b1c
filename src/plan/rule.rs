//! Which rules a phase is explored for.

use crate::explore::Property;

/// The rules that concern those who share a lock, in the order in which a plan names them.
pub const RULES: [Property; 5] = [
    Property::MutualExclusion,
    Property::LeaseHonoured,
    Property::ReleasesOnlyOwn,
    Property::TruthfulOutcome,
    Property::CanBeTakenAgain,
];
