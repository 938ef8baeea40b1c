//! What may go wrong: the kinds of faults, and how many of each a schedule may still have.

/// How many faults of each kind a schedule may still have.
///
/// A new kind of fault is a field here and an [`Action`](super::Action) that spends it; `rules` says when it can happen and
/// what it does, `report` how it is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "cli", derive(serde::Serialize, serde::Deserialize))]
pub struct FaultBudget {
    /// Clients that crash.
    pub crashes: u8,
    /// Replies that are lost after their command ran.
    pub lost_replies: u8,
    /// Times that the server is replaced by its replica.
    pub failovers: u8,
    /// Requests that are lost before their command ran.
    #[cfg_attr(feature = "cli", serde(default, skip_serializing_if = "is_zero"))]
    pub lost_requests: u8,
}

#[cfg(feature = "cli")]
fn is_zero(faults: &u8) -> bool {
    *faults == 0
}

/// Bits for each kind where a budget is packed into a word.
const BITS: u32 = 4;
const MASK: u16 = (1 << BITS) - 1;

impl FaultBudget {
    /// The most faults of one kind.
    pub const MAX: u8 = 15;

    /// Nothing goes wrong.
    pub const NONE: Self = Self { crashes: 0, lost_replies: 0, failovers: 0, lost_requests: 0 };

    /// As one word: no kind may have more than [`MAX`](Self::MAX) faults.
    pub(super) fn packed(self) -> u16 {
        [self.crashes, self.lost_replies, self.failovers, self.lost_requests]
            .into_iter()
            .fold(0, |word, faults| word << BITS | u16::from(faults))
    }

    /// The budget of a word.
    pub(super) fn unpacked(word: u16) -> Self {
        let faults = |place: u32| u8::try_from(word >> (place * BITS) & MASK).unwrap_or(u8::MAX);
        Self { crashes: faults(3), lost_replies: faults(2), failovers: faults(1), lost_requests: faults(0) }
    }
}

#[test]
fn a_budget_is_packed_and_unpacked() {
    let budget = FaultBudget { crashes: FaultBudget::MAX, lost_replies: 2, failovers: 7, lost_requests: 12 };
    assert_eq!(FaultBudget::unpacked(budget.packed()), budget);
}
