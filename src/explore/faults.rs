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
    /// Requests that run after their sender gave up.
    #[cfg_attr(feature = "cli", serde(default, skip_serializing_if = "is_zero"))]
    pub late_requests: u8,
    /// Crashed clients that start anew.
    #[cfg_attr(feature = "cli", serde(default, skip_serializing_if = "is_zero"))]
    pub client_restarts: u8,
    /// Times that a client's wall clock is set.
    #[cfg_attr(feature = "cli", serde(default, skip_serializing_if = "is_zero"))]
    pub clock_steps: u8,
    /// Times that the server's clock is set.
    #[cfg_attr(feature = "cli", serde(default, skip_serializing_if = "is_zero"))]
    pub server_clock_steps: u8,
    /// Times that the server restarts with its data.
    #[cfg_attr(feature = "cli", serde(default, skip_serializing_if = "is_zero"))]
    pub restarts: u8,
    /// Times that the server restarts without its data.
    #[cfg_attr(feature = "cli", serde(default, skip_serializing_if = "is_zero"))]
    pub data_losses: u8,
    /// Keys that the server evicts.
    #[cfg_attr(feature = "cli", serde(default, skip_serializing_if = "is_zero"))]
    pub evictions: u8,
    /// Keys that the server removes in the very millisecond of their deadline, in which most commands still find them: since
    /// 8.0 Redis does that in the background.
    #[cfg_attr(feature = "cli", serde(default, skip_serializing_if = "is_zero"))]
    pub removals_at_deadline: u8,
}

#[cfg(feature = "cli")]
fn is_zero(faults: &u8) -> bool {
    *faults == 0
}

impl FaultBudget {
    /// The most faults of one kind.
    pub const MAX: u8 = 15;

    /// Nothing goes wrong.
    pub const NONE: Self = Self {
        crashes: 0,
        lost_replies: 0,
        failovers: 0,
        lost_requests: 0,
        late_requests: 0,
        client_restarts: 0,
        clock_steps: 0,
        server_clock_steps: 0,
        restarts: 0,
        data_losses: 0,
        evictions: 0,
        removals_at_deadline: 0,
    };

    /// Every kind.
    fn kinds(&mut self) -> [&mut u8; 12] {
        [
            &mut self.crashes,
            &mut self.lost_replies,
            &mut self.failovers,
            &mut self.lost_requests,
            &mut self.late_requests,
            &mut self.client_restarts,
            &mut self.clock_steps,
            &mut self.server_clock_steps,
            &mut self.restarts,
            &mut self.data_losses,
            &mut self.evictions,
            &mut self.removals_at_deadline,
        ]
    }

    /// Whether a search can tell apart what is left of this budget: of all kinds together, at most 65,536 combinations.
    pub fn can_be_explored(mut self) -> bool {
        let combinations = self.kinds().into_iter().map(|most| u64::from(*most) + 1).product::<u64>();
        combinations <= 1 << 16
    }

    /// What is left of a budget, as one word.
    pub(super) fn packed(mut self, mut budget: Self) -> u16 {
        let kinds = self.kinds().into_iter().zip(budget.kinds());
        let word = kinds.fold(0_u32, |word, (left, most)| word * (u32::from(*most) + 1) + u32::from(*left));
        word as u16
    }

    /// What this word says is left of a budget.
    pub(super) fn unpacked(mut word: u16, mut budget: Self) -> Self {
        let mut left = Self::NONE;
        for (left, most) in left.kinds().into_iter().zip(budget.kinds()).rev() {
            let radix = u16::from(*most) + 1;
            *left = u8::try_from(word % radix).unwrap_or(u8::MAX);
            word /= radix;
        }
        left
    }
}

#[test]
fn what_is_left_of_a_budget_is_packed_and_unpacked() {
    let budget = FaultBudget {
        crashes: FaultBudget::MAX,
        lost_replies: 2,
        evictions: 7,
        late_requests: 12,
        ..FaultBudget::NONE
    };
    let left = FaultBudget { crashes: 3, lost_replies: 0, evictions: 7, late_requests: 11, ..FaultBudget::NONE };
    for left in [left, budget, FaultBudget::NONE] {
        assert_eq!(FaultBudget::unpacked(left.packed(budget), budget), left);
    }
    assert!(budget.can_be_explored());
    assert!(!FaultBudget { restarts: 15, data_losses: 15, clock_steps: 1, ..budget }.can_be_explored());
}
